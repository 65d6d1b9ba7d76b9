#include "gui/pages/learning_rate/schedule_plot.hpp"

#include <algorithm>
#include <array>

#include "analysis/report/units.hpp"
#include "gui/plots/legend.hpp"

namespace ddpprof::gui {
namespace {

struct Look {
  Colour colour;
  Qt::PenStyle style;
};
constexpr std::array<Look, 3> looks = {
    {{Colour::predicted, Qt::SolidLine}, {Colour::what_if, Qt::DashLine}, {Colour::ideal, Qt::DotLine}}};

}  // namespace

SchedulePlot::SchedulePlot(QWidget* parent) : Plot(parent) {
  set_name("learning-rate");
  setAccessibleName(tr("Learning rate over the training"));
  for (std::size_t i = 0; i < looks.size(); ++i) addGraph();
  place_legend_above(*this, 3);
  connect(this, &Plot::restyled, this, &SchedulePlot::colour_in);
  colour_in();
}

void SchedulePlot::show_curves(const std::vector<ScheduleCurve>& curves, ScheduleAxis axis) {
  set_axes(axis == ScheduleAxis::steps ? tr("optimizer step [steps]") : tr("epoch [epochs]"), tr("learning rate [1]"));
  double last = 0.0, highest = 0.0;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const ScheduleCurve& curve = curves[i];
    graph(static_cast<int>(i))
        ->setData(QVector<double>(curve.x.begin(), curve.x.end()),
                  QVector<double>(curve.rate.begin(), curve.rate.end()), true);
    // What it climbs to, and falls from where there is a decay.
    const double target = *std::max_element(curve.rate.begin(), curve.rate.end());
    graph(static_cast<int>(i))
        ->setName(tr("%1: %2").arg(tr(to_string(curve.rule)),
                                   QString::fromStdString(report::format_quantity(target, "", 4))));
    last = std::max(last, curve.x.back());
    highest = std::max(highest, target);
  }
  xAxis->setRange(-0.01 * last, 1.01 * last);
  yAxis->setRange(0.0, 1.08 * highest);
  replot(QCustomPlot::rpQueuedReplot);
}

void SchedulePlot::colour_in() {
  for (std::size_t i = 0; i < looks.size(); ++i)
    graph(static_cast<int>(i))->setPen(pen(looks[i].colour, 2.2, looks[i].style));
  replot(QCustomPlot::rpQueuedReplot);
}

}  // namespace ddpprof::gui
