#include "gui/pages/fit/fit_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/plots/legend.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

// Series differ in colour and in shape.
constexpr std::array series_colours = {Colour::compute, Colour::exposed, Colour::input,     Colour::copies,
                                       Colour::skew,    Colour::other,   Colour::overlapped};
constexpr std::array series_shapes = {QCPScatterStyle::ssCircle,    QCPScatterStyle::ssSquare,
                                      QCPScatterStyle::ssTriangle,  QCPScatterStyle::ssDiamond,
                                      QCPScatterStyle::ssStar,      QCPScatterStyle::ssTriangleInverted,
                                      QCPScatterStyle::ssPlusCircle};
constexpr int most_ticks = 8;

// When the colours repeat, the shapes shift by one, so that each pair of colour and shape differs.
QCPScatterStyle::ScatterShape shape_of(std::size_t index) {
  return series_shapes[(index + index / series_colours.size()) % series_shapes.size()];
}

struct Range {
  double low = 0.0, high = 0.0;
  void add(double value) {
    low = high == 0.0 ? value : std::min(low, value);
    high = std::max(high, value);
  }
};

// Texts for powers of two: "4 KiB".
QSharedPointer<QCPAxisTicker> size_ticks(const Range& range) {
  const auto ticker = QSharedPointer<QCPAxisTickerText>::create();
  const int first = static_cast<int>(std::ceil(std::log2(std::max(1.0, range.low)) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(std::max(1.0, range.high)) + 1e-9));
  const int stride = std::max(1, (last - first + most_ticks) / most_ticks);
  for (int power = first; power <= last; power += stride)
    ticker->addTick(std::ldexp(1.0, power), QString::fromStdString(units::format_bytes(std::int64_t{1} << power)));
  return ticker;
}

// Labels at 1, 2, 5, 10, …, so that a logarithmic axis of less than a decade has labels too.
QSharedPointer<QCPAxisTicker> decade_ticks(const Range& range) {
  const auto ticker = QSharedPointer<QCPAxisTickerText>::create();
  const bool wide = range.high > 3e3 * range.low;
  for (int decade = static_cast<int>(std::floor(std::log10(range.low))); decade <= std::ceil(std::log10(range.high));
       ++decade) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10.0, decade);
      if (value < 0.5 * range.low || value > 2.0 * range.high || (wide && digit != 1.0)) continue;
      ticker->addTick(value, compact_number(value));
    }
  }
  return ticker;
}

}  // namespace

FitPlot::FitPlot(Shows shows, QWidget* parent) : Plot(parent), shows_(shows) {
  const bool times = shows_ == Shows::times;
  set_name(times ? "fit" : "residuals");
  setAccessibleName(times ? tr("Measured points and the model") : tr("Residuals"));
  if (times) place_legend_above(*this, 3);
  connect(this, &Plot::restyled, this, &FitPlot::rebuild);
}

void FitPlot::show_fit(FitView view) {
  view_ = std::move(view);
  rebuild();
}

void FitPlot::rebuild() {
  clearPlottables();
  std::vector<double> times_s;
  for (const FitSeries& series : view_.series)
    for (const FitPoint& point : series.points) times_s.push_back(point.measured_s);
  const units::Scale scale = units::choose_scale("s", times_s);
  factor_ = scale.factor;
  set_axes(QString::fromStdString(view_.x_title), shows_ == Shows::times
                                                      ? tr("median time [%1]").arg(QString::fromStdString(scale.unit))
                                                      : tr("fitted / measured − 1 [%]"));
  for (std::size_t i = 0; i < view_.series.size(); ++i) {
    if (shows_ == Shows::times)
      add_times(view_.series[i], i);
    else
      add_residuals(view_.series[i], i);
  }
  set_x_axis();
  if (shows_ == Shows::times) set_time_axis();
  replot(QCustomPlot::rpQueuedReplot);
}

void FitPlot::add_times(const FitSeries& series, std::size_t index) {
  const Colour which = series_colours[index % series_colours.size()];
  const QColor paint = colour(which, palette());
  QCPGraph* curve = addGraph();
  curve->removeFromLegend();
  curve->setPen(pen(which, 1.6));
  QVector<double> x, y;
  for (std::size_t i = 0; i < series.curve_x.size(); ++i) {
    x.push_back(series.curve_x[i]);
    y.push_back(series.curve_s[i] / factor_);
  }
  curve->setData(x, y, true);

  QCPGraph* fitted = addGraph();
  fitted->removeFromLegend();
  fitted->setLineStyle(QCPGraph::lsNone);
  fitted->setScatterStyle({QCPScatterStyle::ssCross, QPen(paint, 1.4), Qt::NoBrush, 9.0});
  QCPGraph* points = addGraph();
  points->setName(QString::fromStdString(series.name));
  points->setLineStyle(QCPGraph::lsNone);
  points->setScatterStyle({shape_of(index), QPen(palette().color(QPalette::Base), 0.6), QBrush(paint), 8.0});
  // Shapes made of lines have no area to fill.
  if (shape_of(index) == QCPScatterStyle::ssStar || shape_of(index) == QCPScatterStyle::ssPlusCircle)
    points->setScatterStyle({shape_of(index), QPen(paint, 1.6), Qt::NoBrush, 9.0});
  QVector<double> px, measured, model, error;
  for (const FitPoint& point : series.points) {
    px.push_back(point.x);
    measured.push_back(point.measured_s / factor_);
    model.push_back(point.fitted_s / factor_);
    error.push_back(point.error_s / factor_);
  }
  fitted->setData(px, model, true);
  points->setData(px, measured, true);
  auto* bars = new QCPErrorBars(xAxis, yAxis);
  bars->removeFromLegend();
  bars->setDataPlottable(points);
  bars->setPen(QPen(paint, 1.0));
  bars->setData(error);
}

void FitPlot::add_residuals(const FitSeries& series, std::size_t index) {
  const QColor paint = colour(series_colours[index % series_colours.size()], palette());
  QCPGraph* points = addGraph();
  points->setLineStyle(QCPGraph::lsNone);
  points->setName(QString::fromStdString(series.name));
  points->setScatterStyle({shape_of(index), QPen(paint, 1.4), QBrush(paint), 8.0});
  QVector<double> x, y;
  for (const FitPoint& point : series.points) {
    x.push_back(point.x);
    y.push_back(100.0 * point.relative_error());
  }
  points->setData(x, y, true);
  double most = 1.0;
  for (const FitSeries& other : view_.series)
    for (const FitPoint& point : other.points) most = std::max(most, std::abs(100.0 * point.relative_error()));
  yAxis->setRange(-1.15 * most, 1.15 * most);
}

void FitPlot::set_x_axis() {
  Range range;
  for (const FitSeries& series : view_.series) {
    for (const FitPoint& point : series.points) range.add(point.x);
    for (const double x : series.curve_x) range.add(x);
  }
  if (!(range.high > 0.0)) return;
  if (by_size()) {
    xAxis->setScaleType(QCPAxis::stLogarithmic);
    xAxis->setTicker(size_ticks(range));
    xAxis->setRange(range.low / 1.15, range.high * 1.15);
  } else {
    set_worker_axis(range.low, range.high, true);
  }
}

void FitPlot::set_time_axis() {
  Range range;
  for (const FitSeries& series : view_.series) {
    for (const FitPoint& point : series.points) {
      range.add(point.measured_s / factor_);
      range.add(point.fitted_s / factor_);
    }
    for (const double time_s : series.curve_s) range.add(time_s / factor_);
  }
  if (!(range.high > 0.0) || !(range.low > 0.0)) return;
  yAxis->setScaleType(QCPAxis::stLogarithmic);
  yAxis->setTicker(decade_ticks(range));
  yAxis->setRange(range.low / 1.25, range.high * 1.25);
}

}  // namespace ddpprof::gui
