#include "gui/plots/series.hpp"

#include <algorithm>

namespace ddpprof::gui {
namespace {

constexpr double widest_bar = 14.0, least_bar = 3.0;  // layout units

QCPGraph* add_graph(Plot& plot, const QString& layer) {
  QCPGraph* graph = plot.addGraph();
  graph->setLayer(layer);
  graph->setSelectable(QCP::stNone);
  return graph;
}

void list(QCPAbstractPlottable* plottable, bool listed) {
  if (listed)
    plottable->addToLegend();
  else
    plottable->removeFromLegend();
}

}  // namespace

BandedLine::BandedLine(Plot& plot, const QString& name, const QString& layer)
    : plot_(plot),
      low_(add_graph(plot, layer)),
      high_(add_graph(plot, layer)),
      line_(add_graph(plot, layer)),
      beyond_(add_graph(plot, layer)) {
  for (QCPGraph* graph : {low_, high_, beyond_}) list(graph, false);
  for (QCPGraph* graph : {low_, high_}) graph->setPen(Qt::NoPen);
  high_->setChannelFillGraph(low_);
  line_->setName(name);
}

void BandedLine::set(const QVector<double>& x, const QVector<double>& y, const QVector<double>& low,
                     const QVector<double>& high, double solid_to) {
  low_->setData(x, low, true);
  high_->setData(x, high, true);
  QVector<double> near_x, near_y, far_x, far_y;
  for (qsizetype i = 0; i < x.size(); ++i) {
    if (x[i] <= solid_to) {
      near_x.push_back(x[i]);
      near_y.push_back(y[i]);
    }
    // The dashed part starts where the solid line ends.
    if (x[i] > solid_to || i + 1 == x.size() || x[i + 1] > solid_to) {
      far_x.push_back(x[i]);
      far_y.push_back(y[i]);
    }
  }
  line_->setData(near_x, near_y, true);
  beyond_->setData(far_x, far_y, true);
}

void BandedLine::clear() {
  for (QCPGraph* graph : {low_, high_, line_, beyond_}) graph->data()->clear();
}

void BandedLine::restyle(Colour which, double width, Qt::PenStyle style) {
  line_->setPen(plot_.pen(which, width, style));
  beyond_->setPen(plot_.pen(which, width, Qt::DashLine));
  high_->setBrush(plot_.band(which));
}

void BandedLine::set_band_visible(bool visible) {
  low_->setVisible(visible);
  high_->setVisible(visible);
}

void BandedLine::set_listed(bool listed) { list(line_, listed); }

ErrorPoints::ErrorPoints(Plot& plot, const QString& name, const QString& layer)
    : plot_(plot), points_(add_graph(plot, layer)), bars_(new QCPErrorBars(plot.xAxis, plot.yAxis)) {
  points_->setName(name);
  points_->setLineStyle(QCPGraph::lsNone);
  bars_->setLayer(layer);
  bars_->setDataPlottable(points_);
  bars_->setErrorType(QCPErrorBars::etValueError);
  bars_->setSelectable(QCP::stNone);
  list(bars_, false);
}

void ErrorPoints::set(const QVector<double>& x, const QVector<double>& y, const QVector<double>& low,
                      const QVector<double>& high) {
  points_->setData(x, y, true);
  QVector<double> minus, plus;
  for (qsizetype i = 0; i < x.size(); ++i) {
    minus.push_back(std::max(0.0, y[i] - low[i]));
    plus.push_back(std::max(0.0, high[i] - y[i]));
  }
  bars_->setData(minus, plus);
}

void ErrorPoints::clear() {
  points_->data()->clear();
  bars_->setData(QVector<double>());
}

void ErrorPoints::restyle(Colour which) {
  const QPen pen = plot_.pen(which, 1.6);
  points_->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle, pen, plot_.palette().color(QPalette::Base), 8));
  bars_->setPen(pen);
}

void ErrorPoints::set_listed(bool listed) { list(points_, listed); }

StackedAreas::StackedAreas(Plot& plot, std::vector<Part> parts, const QString& layer)
    : plot_(plot), parts_(std::move(parts)) {
  for (const Part& part : parts_) {
    QCPGraph* area = add_graph(plot, layer);
    area->setName(part.name);
    // Each area is filled down to the one below it; the first one down to the axis.
    if (!areas_.empty()) area->setChannelFillGraph(areas_.back());
    areas_.push_back(area);
  }
}

void StackedAreas::set(const QVector<double>& x, const std::vector<QVector<double>>& values) {
  QVector<double> total(x.size(), 0.0);
  for (std::size_t part = 0; part < areas_.size(); ++part) {
    double most = 0.0;
    for (qsizetype i = 0; i < x.size(); ++i) {
      total[i] += values[part][i];
      most = std::max(most, values[part][i]);
    }
    areas_[part]->setData(x, total, true);
    list(areas_[part], most > 0.0);
  }
}

void StackedAreas::clear() {
  for (QCPGraph* area : areas_) {
    area->data()->clear();
    list(area, false);
  }
}

void StackedAreas::restyle() {
  for (std::size_t part = 0; part < areas_.size(); ++part) {
    QColor fill = colour(parts_[part].colour, plot_.palette());
    areas_[part]->setPen(QPen(fill, 1.0));
    fill.setAlpha(200);
    areas_[part]->setBrush(fill);
  }
}

StackedBars::StackedBars(Plot& plot, std::vector<StackPart> parts, const QString& layer)
    : plot_(plot), parts_(std::move(parts)) {
  for (const StackPart& part : parts_) {
    auto* bar = new QCPBars(plot.xAxis, plot.yAxis);
    bar->setLayer(layer);
    bar->setName(part.name);
    bar->setSelectable(QCP::stNone);
    bar->setWidthType(QCPBars::wtAbsolute);
    bar->setWidth(widest_bar);
    bar->setStackingGap(0.0);
    if (!bars_.empty()) bar->moveAbove(bars_.back());
    list(bar, false);
    bars_.push_back(bar);
  }
}

void StackedBars::set(const QVector<double>& x, const std::vector<QVector<double>>& values) {
  for (std::size_t part = 0; part < bars_.size(); ++part) bars_[part]->setData(x, values[part], true);
  make_room();
}

void StackedBars::clear() {
  for (QCPBars* bar : bars_) bar->data()->clear();
}

void StackedBars::restyle() {
  const QColor edge = colour(Colour::measured, plot_.palette());
  for (std::size_t part = 0; part < bars_.size(); ++part) {
    bars_[part]->setPen(QPen(edge, 1.0));
    bars_[part]->setBrush(colour(parts_[part].colour, plot_.palette()));
  }
}

void StackedBars::make_room() {
  if (bars_.empty()) return;
  double width = widest_bar;
  const auto data = bars_.front()->data();
  for (auto at = data->constBegin(); at != data->constEnd() && at + 1 != data->constEnd(); ++at) {
    const double apart = plot_.xAxis->coordToPixel((at + 1)->key) - plot_.xAxis->coordToPixel(at->key);
    width = std::min(width, std::max(least_bar, 0.7 * apart));
  }
  for (QCPBars* bar : bars_) bar->setWidth(width);
}

}  // namespace ddpprof::gui
