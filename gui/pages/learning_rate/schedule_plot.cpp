#include "gui/pages/learning_rate/schedule_plot.hpp"

#include <algorithm>

#include "gui/plots/legend.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

using learning_rate::Rule;

struct Look {
  Colour colour;
  Qt::PenStyle style;
};
constexpr int most_curves = 4;

Look look_of(Rule rule) {
  if (rule == Rule::linear) return {Colour::predicted, Qt::SolidLine};
  if (rule == Rule::square_root) return {Colour::what_if, Qt::DashLine};
  if (rule == Rule::none) return {Colour::ideal, Qt::DotLine};
  return {Colour::knee, Qt::DashDotLine};
}

const char* name_of(Rule rule) { return rule == Rule::none ? "unscaled" : to_string(rule); }

}  // namespace

SchedulePlot::SchedulePlot(QWidget* parent) : Plot(parent) {
  set_name("learning-rate");
  setAccessibleName(tr("Learning rate over the training"));
  for (int i = 0; i < most_curves; ++i) addGraph();
  place_legend_above(*this, most_curves);
  connect(this, &Plot::restyled, this, &SchedulePlot::colour_in);
  colour_in();
}

void SchedulePlot::show_curves(const std::vector<ScheduleCurve>& curves, ScheduleAxis axis) {
  set_axes(axis == ScheduleAxis::steps ? tr("optimizer step [steps]") : tr("epoch [epochs]"), tr("learning rate [1]"));
  double last = 0.0, highest = 0.0;
  rules_.clear();
  for (int i = 0; i < most_curves; ++i) {
    QCPGraph& line = *graph(i);
    const bool shown = i < static_cast<int>(curves.size());
    line.setVisible(shown);
    if (!shown) {
      line.removeFromLegend();
      line.data()->clear();
      continue;
    }
    const ScheduleCurve& curve = curves[static_cast<std::size_t>(i)];
    rules_.push_back(curve.rule);
    line.addToLegend();
    line.setData(QVector<double>(curve.x.begin(), curve.x.end()), QVector<double>(curve.rate.begin(), curve.rate.end()),
                 true);
    // The legend shows the highest rate of the curve. This is the target rate, where the warm-up ends and a decay
    // starts, unless the training ends during the warm-up.
    const double target = *std::max_element(curve.rate.begin(), curve.rate.end());
    line.setName(
        tr("%1: %2").arg(tr(name_of(curve.rule)), QString::fromStdString(units::format_quantity(target, "", 4))));
    last = std::max(last, curve.x.back());
    highest = std::max(highest, target);
  }
  xAxis->setRange(-0.01 * last, 1.01 * last);
  yAxis->setRange(0.0, 1.08 * highest);
  colour_in();
}

void SchedulePlot::colour_in() {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Look look = look_of(rules_[i]);
    graph(static_cast<int>(i))->setPen(pen(look.colour, 2.2, look.style));
  }
  replot(QCustomPlot::rpQueuedReplot);
}

}  // namespace ddpprof::gui
