// The page Timeline: the ranks of one measurement over time, with search, range statistics and details.
#pragma once

#include <memory>

#include "gui/models/jobs.hpp"
#include "gui/pages/page.hpp"
#include "gui/timeline/timeline_source.hpp"
#include "gui/timeline/timeline_view.hpp"

class QCheckBox;
class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QStackedWidget;
class QTabWidget;
class QToolButton;

namespace ddpprof::gui {

class Finder;
class OverviewStrip;
class RangeStatistics;
class StepPanel;
class TableView;
class TimelineLegend;

class TimelinePage : public Page {
  Q_OBJECT

 public:
  explicit TimelinePage(Selection& selection, QWidget* parent = nullptr);

  QString title() const override { return tr("&Timeline"); }
  std::vector<std::pair<QString, QString>> keys() const override;
  QWidget* make_companion(QWidget* parent) override;  // RangeStatistics
  void show_file(std::shared_ptr<const OpenedFile> file) override;
  bool applies_to(const OpenedFile& file) const override { return !file.measurements.empty(); }

  TimelineSource& source() { return *source_; }
  TimelineView& view() { return *view_; }
  Finder& finder() { return *finder_; }
  RangeStatistics& range_statistics() { return *range_; }
  StepPanel& step_panel() { return *step_panel_; }
  TableView& details() { return *details_; }
  OverviewStrip& strip() { return *strip_; }
  TimelineLegend& legend() { return *legend_; }
  QString message() const;  // text shown instead of the timeline, or ""

 protected:
  void showEvent(QShowEvent*) override;

 private:
  QWidget* make_controls();
  QWidget* make_progress();
  QWidget* make_panels();
  QWidget* make_overview();  // the strip and the legend above the timeline
  void show_view();          // in the strip
  void make_shortcuts();
  void choose_measurement();
  void show_measurement();  // shows the measurement of the selection
  void show_timeline();
  void show_state();  // shows progress, errors, or a text instead of the timeline
  void show_details();
  void show_range();
  void go_to_step();
  void show_step_panel();

  std::shared_ptr<const OpenedFile> file_;
  TimelineSource* source_;
  TimelineView* view_;
  OverviewStrip* strip_;
  TimelineLegend* legend_;
  Finder* finder_ = nullptr;
  QComboBox* measurement_ = nullptr;
  QSpinBox* step_ = nullptr;
  bool step_chosen_ = false;  // true if the step box was used after the last event was focused
  QPushButton* go_ = nullptr;
  QToolButton* select_ = nullptr;
  QCheckBox* flows_ = nullptr;
  QCheckBox* raw_ = nullptr;
  QWidget* progress_row_ = nullptr;
  QLabel* progress_text_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QPushButton* stop_ = nullptr;
  QStackedWidget* stack_ = nullptr;
  QLabel* message_ = nullptr;
  QTabWidget* panels_ = nullptr;
  TableView* details_ = nullptr;
  RangeStatistics* range_ = nullptr;
  StepPanel* step_panel_ = nullptr;
  Job detail_job_;
};

}  // namespace ddpprof::gui
