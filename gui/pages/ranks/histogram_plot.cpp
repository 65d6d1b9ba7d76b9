#include "gui/pages/ranks/histogram_plot.hpp"

#include <algorithm>

#include "gui/plots/legend.hpp"

namespace ddpprof::gui {

HistogramPlot::HistogramPlot(QWidget* parent) : Plot(parent), bars_(new QCPBars(xAxis, yAxis)) {
  set_name("step times");
  setAccessibleName(tr("Distribution of step times"));
  bars_->setName(tr("steps of all ranks"));
  median_ = addGraph();
  median_->setName(tr("median"));
  p95_ = addGraph();
  p95_->setName(tr("95th percentile"));
  place_legend_above(*this, 3);
  connect(this, &Plot::restyled, this, &HistogramPlot::colour_in);
  colour_in();
}

void HistogramPlot::show_histogram(const StepHistogram& histogram) {
  QVector<double> middles, counts;
  const double unit = histogram.counts.empty() ? 1.0 : histogram.scale.factor, width = histogram.width_s / unit;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    middles.push_back(histogram.low_s / unit + (static_cast<double>(i) + 0.5) * width);
    counts.push_back(static_cast<double>(histogram.counts[i]));
  }
  set_axes(tr("step time [%1]").arg(QString::fromStdString(histogram.scale.unit)), tr("steps"));
  bars_->setWidth(width);
  bars_->setData(middles, counts, true);
  const double highest = counts.isEmpty() ? 1.0 : 1.05 * *std::max_element(counts.begin(), counts.end());
  const QVector<double> ends = {0.0, highest};
  const auto line = [&](QCPGraph* graph, double at_s) {
    graph->setData(counts.isEmpty() ? QVector<double>() : QVector<double>{at_s / unit, at_s / unit},
                   counts.isEmpty() ? QVector<double>() : ends);
  };
  line(median_, histogram.median_s);
  line(p95_, histogram.p95_s);
  const double low = histogram.low_s / unit, all = width * static_cast<double>(std::max<qsizetype>(1, counts.size()));
  xAxis->setRange(low - 0.03 * all, low + 1.03 * all);
  yAxis->setRange(0.0, highest);
  replot(QCustomPlot::rpQueuedReplot);
}

void HistogramPlot::colour_in() {
  bars_->setPen(QPen(palette().color(QPalette::Base), 1.0));
  bars_->setBrush(colour(Colour::compute, palette()));
  median_->setPen(pen(Colour::measured, 2.0));
  p95_->setPen(pen(Colour::exposed, 2.0, Qt::DashLine));
  replot(QCustomPlot::rpQueuedReplot);
}

}  // namespace ddpprof::gui
