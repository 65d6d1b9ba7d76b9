// The page Ranks: the parts of each rank's step, all steps by rank, and the stragglers with their evidence.
#pragma once

#include <memory>
#include <optional>

#include "analysis/metrics/ranks/rank_findings.hpp"
#include "analysis/metrics/ranks/ranks.hpp"
#include "analysis/report/report.hpp"
#include "gui/models/jobs.hpp"
#include "gui/models/ranks/rank_view.hpp"
#include "gui/pages/page.hpp"

class QCheckBox;
class QComboBox;
class QLabel;
class QPushButton;
class QTabWidget;

namespace ddpprof::gui {

class BarsPlot;
class HistogramPlot;
class MessageStack;
class StripPlot;
class TableOrMessage;
class TableTabs;

class RanksPage : public Page {
  Q_OBJECT

 public:
  explicit RanksPage(Selection&, QWidget* parent = nullptr);

  QString title() const override { return tr("R&anks"); }
  std::vector<std::pair<QString, QString>> keys() const override;
  void show_file(std::shared_ptr<const OpenedFile> file) override;
  bool applies_to(const OpenedFile& file) const override { return !file.measurements.empty(); }

  bool reading() const { return reading_.running() || colouring_.running(); }

 protected:
  void showEvent(QShowEvent*) override;

 private:
  struct Colours {
    StripQuantity quantity = StripQuantity::step;
    bool unmeasured_too = false;
    bool operator==(const Colours&) const = default;
  };
  struct Shown {                                          // made off the interface thread
    std::shared_ptr<const metrics::RankTimes> all, some;  // some: only the steps in the selected range
    metrics::RankFindings findings;
    Colours colours;
    RankStrip strip;
    RankBars bars;
    StepHistogram histogram;
    report::Table ranks, stragglers, slow_steps, percentiles;
    int measured_steps = 0;
  };
  static std::shared_ptr<const Shown> look_at(std::shared_ptr<const metrics::RankTimes> all,
                                              const std::optional<TimeRange>&, const Colours&);

  QWidget* make_content();
  void pick_measurement();
  void read_if_visible();
  void show_read(const std::shared_ptr<const Shown>&);
  Colours colours_wanted() const;
  void colour_strip();  // with the present choice of quantity
  void show_strip(RankStrip strip);
  void show_steps_table();
  void describe_cursor();
  void select_cursors_step();
  std::optional<TimeRange> range_here();  // the selected range, if it belongs to this measurement

  std::shared_ptr<const OpenedFile> file_;
  std::optional<std::int64_t> measurement_;
  std::shared_ptr<const Shown> shown_;
  bool stale_ = false;
  Job reading_, colouring_;
  std::int64_t steps_of_rank_ = -1;  // the rank in the table of steps; -1: all ranks

  QComboBox *measurements_ = nullptr, *quantity_ = nullptr;
  QLabel *range_text_ = nullptr, *summary_ = nullptr, *cell_ = nullptr;
  QPushButton* whole_ = nullptr;
  QCheckBox* unmeasured_ = nullptr;
  BarsPlot* bars_ = nullptr;
  StripPlot* strip_ = nullptr;
  TableTabs* tables_ = nullptr;
  TableOrMessage *ranks_table_ = nullptr, *stragglers_table_ = nullptr, *slow_table_ = nullptr, *steps_table_ = nullptr,
                 *percentiles_table_ = nullptr;
  HistogramPlot* histogram_ = nullptr;
  MessageStack* stack_ = nullptr;
};

}  // namespace ddpprof::gui
