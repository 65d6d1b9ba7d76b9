// The learning rate over the training, by each rule.
#pragma once

#include <vector>

#include "gui/models/learning_rate/schedules.hpp"
#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

class SchedulePlot : public Plot {
  Q_OBJECT

 public:
  explicit SchedulePlot(QWidget* parent = nullptr);
  void show_curves(const std::vector<ScheduleCurve>&, ScheduleAxis);

 private:
  void colour_in();

  std::vector<learning_rate::Rule> rules_;  // of the graphs that are shown
};

}  // namespace ddpprof::gui
