// The learning rate over the training, one curve per rule.
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

  std::vector<learning_rate::Rule> rules_;  // of the visible graphs
};

}  // namespace ddpprof::gui
