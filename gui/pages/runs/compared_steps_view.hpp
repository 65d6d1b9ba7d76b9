// A typical step of each of two compared files, A above B, on one time axis that begins with the step.
#pragma once

#include <QWidget>
#include <filesystem>

#include "gui/models/jobs.hpp"
#include "gui/models/runs/compared_steps.hpp"

namespace ddpprof::gui {

class LaneView;

class ComparedStepsView : public QWidget {
  Q_OBJECT

 public:
  ComparedStepsView(std::filesystem::path a, std::filesystem::path b, QWidget* parent);

  // Reads the steps of a configuration of the waterfall in the background.
  void show_configuration(std::size_t index);
  const LaneView& a() const { return *a_; }
  const LaneView& b() const { return *b_; }

 signals:
  void shown();
  void status_message(const QString& message);

 protected:
  void resizeEvent(QResizeEvent*) override;

 private:
  void show_steps(ComparedSteps);
  void keep_lanes_whole();  // the page around scrolls instead of squeezing lanes

  Job job_;
  std::filesystem::path path_a_, path_b_;
  LaneView* a_;
  LaneView* b_;
};

}  // namespace ddpprof::gui
