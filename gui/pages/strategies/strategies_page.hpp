// DataParallel and DDP side by side, at a measured or any other N: the lanes of a step of the same workload, the parts
// of time, memory and traffic, and a recommendation.
#pragma once

#include <memory>

#include "gui/models/jobs.hpp"
#include "gui/models/strategies/strategies.hpp"
#include "gui/pages/page.hpp"

class QBoxLayout;
class QCheckBox;
class QComboBox;
class QLabel;
class QRadioButton;
class QSpinBox;

namespace ddpprof::gui {

class SideBars;
class LaneView;
class MessageStack;
class TableView;

class StrategiesPage : public Page {
  Q_OBJECT

 public:
  explicit StrategiesPage(Selection& selection, QWidget* parent = nullptr);

  QString title() const override { return tr("&DP and DDP"); }
  std::vector<std::pair<QString, QString>> keys() const override;
  void show_file(std::shared_ptr<const OpenedFile> file) override;
  bool applies_to(const OpenedFile& file) const override { return file.has("dp") || file.has("ddp"); }

  // The comparison that is shown; null until it is ready.
  const std::optional<Comparison>& shown() const { return shown_; }
  bool working() const { return loading_.running() || comparing_.running(); }

 signals:
  void shown_changed();

 private:
  QWidget* make_controls();
  QWidget* make_lanes();
  QWidget* make_details();
  void prepare();  // after the predictions of the file are ready
  void compare();
  void show_comparison(Comparison comparison);
  void show_lanes();
  void show_bars();
  void place_lanes(bool beside);

  Job loading_, comparing_;
  std::shared_ptr<const OpenedFile> file_;
  std::shared_ptr<const Strategies> strategies_;
  std::optional<Comparison> shown_;
  bool preparing_ = false;
  bool wants_measured_ = true;  // the user's choice; what is drawn also depends on N

  MessageStack* stack_;
  QLabel* recommendation_;
  QLabel* described_;
  QSpinBox* workers_;
  QComboBox* measured_workers_;
  QRadioButton* measured_;
  QRadioButton* simulated_;
  QSpinBox* rank_;
  QCheckBox* beside_;
  QBoxLayout* lanes_layout_;
  LaneView *dp_, *ddp_;
  TableView *comparison_, *times_, *devices_;
  SideBars *time_bars_, *memory_bars_, *traffic_bars_;
};

}  // namespace ddpprof::gui
