// One measured step of one rank above the same step as simulated by the model, on one time axis.
#pragma once

#include <QWidget>
#include <memory>
#include <optional>

#include "gui/models/jobs.hpp"
#include "gui/models/opened_file.hpp"

namespace ddpprof::gui {

class LaneView;

class StepPanel : public QWidget {
  Q_OBJECT

 public:
  explicit StepPanel(QWidget* parent = nullptr);

  void set_file(std::shared_ptr<const OpenedFile> file);
  // Without `step`, shows a typical step of the measurement.
  void show_step(std::int64_t measurement, std::int64_t rank, std::optional<std::int64_t> step);
  const LaneView& measured() const { return *measured_; }
  const LaneView& simulated() const { return *simulated_; }

 signals:
  void shown();
  void status_message(const QString& message);

 private:
  Job job_;
  std::shared_ptr<const OpenedFile> file_;
  LaneView* measured_;
  LaneView* simulated_;
};

}  // namespace ddpprof::gui
