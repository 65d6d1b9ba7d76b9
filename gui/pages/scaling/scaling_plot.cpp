#include "gui/pages/scaling/scaling_plot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gui/plots/legend.hpp"

namespace ddpprof::gui::whatif {
namespace {

// `changed`: with the curve of a change, whose efficiency is relative to one worker without the change (glossary).
QString axis_label(ScalingPlot::View view, bool changed) {
  switch (view) {
    case ScalingPlot::View::throughput:
      return ScalingPlot::tr("throughput [samples/s]");
    case ScalingPlot::View::speedup:
      return ScalingPlot::tr("speedup over one worker [×]");
    case ScalingPlot::View::efficiency:
      return changed ? ScalingPlot::tr("efficiency [%]") : ScalingPlot::tr("weak efficiency [%]");
    case ScalingPlot::View::step:
      return ScalingPlot::tr("step time [ms]");
    case ScalingPlot::View::split:
      break;
  }
  return ScalingPlot::tr("step parts [ms]");
}

// Factor from base units to the unit of the axis.
double in_axis_units(Quantity quantity) {
  return quantity == Quantity::efficiency ? 100.0 : quantity == Quantity::step ? 1e3 : 1.0;
}

struct Columns {
  QVector<double> x, y, low, high;
};

Columns columns_of(const Curve& curve, Quantity quantity) {
  Columns all;
  const double unit = in_axis_units(quantity);
  for (const CurvePoint& point : curve.points) {
    const Figure at = figure(point, quantity);
    all.x.push_back(static_cast<double>(point.workers));
    all.y.push_back(unit * at.value);
    all.low.push_back(unit * at.low);
    all.high.push_back(unit * at.high);
  }
  return all;
}

double solid_to(const Curve& curve) {
  double last = 0.0;
  for (const CurvePoint& point : curve.points)
    if (!point.far && !point.wide) last = static_cast<double>(point.workers);
  return last;
}

void draw_line(BandedLine& line, const Curve* curve, Quantity quantity) {
  line.set_listed(curve != nullptr);
  if (curve == nullptr) {
    line.clear();
    return;
  }
  const Columns all = columns_of(*curve, quantity);
  line.set(all.x, all.y, all.low, all.high, solid_to(*curve));
}

}  // namespace

ScalingPlot::ScalingPlot(QWidget* parent)
    : Plot(parent),
      regions_{Region(*this, Region::Where::top, false, Region::Shape::bracket),
               Region(*this, Region::Where::top, false, Region::Shape::bracket),
               Region(*this, Region::Where::top, true, Region::Shape::bracket)},
      wide_(*this, Region::Where::bottom, true),
      far_(*this, Region::Where::bottom, true),
      ddp_stack_(*this, parts_of_step(false)),
      dp_stack_(*this, parts_of_step(true)),
      ddp_bars_(*this, parts_of_step(false)),
      dp_bars_(*this, parts_of_step(true)),
      ideal_(addGraph()),
      own_(*this, tr("predicted, machine as measured")),
      predicted_(*this, tr("predicted")),
      changed_(*this, tr("what if")),
      measured_(*this, tr("measured")),
      chosen_(*this),
      crosshair_(*this) {
  set_name(QStringLiteral("scaling"));
  setAccessibleName(tr("Scaling over N"));
  setMouseTracking(true);
  // Fills look the same without antialiasing and are drawn much faster.
  setNotAntialiasedElements(QCP::aeFills | QCP::aeGrid);
  ideal_->setName(tr("ideal: N × one worker"));
  own_.set_band_visible(false);
  chosen_.set_height(0.8);
  place_legend_above(*this, 4);
  connect(this, &Plot::restyled, this, &ScalingPlot::restyle_all);
  // After a layout the new size is known and nothing is drawn yet.
  connect(this, &QCustomPlot::afterLayout, this, &ScalingPlot::make_room);
  restyle_all();
  show_nothing();
}

Quantity ScalingPlot::quantity() const {
  switch (view_) {
    case View::throughput:
      return Quantity::throughput;
    case View::speedup:
      return Quantity::speedup;
    case View::efficiency:
      return Quantity::efficiency;
    case View::step:
    case View::split:
      break;
  }
  return Quantity::step;
}

void ScalingPlot::set_view(View view) {
  view_ = view;
  draw_all();
}

void ScalingPlot::set_logarithmic(bool logarithmic) {
  log_n_ = logarithmic;
  draw_all();
}

void ScalingPlot::show_snapshot(const Snapshot& shot) {
  shot_ = shot;
  copies_ = shot.knobs.base_strategy() == "dp";
  draw_all();
}

void ScalingPlot::show_nothing() {
  shot_.reset();
  draw_all();
}

void ScalingPlot::draw_all() {
  for (BandedLine* line : {&own_, &predicted_, &changed_}) draw_line(*line, nullptr, Quantity::step);
  measured_.clear();
  ideal_->data()->clear();
  ddp_stack_.clear();
  dp_stack_.clear();
  ddp_bars_.clear();
  dp_bars_.clear();
  for (Region& region : regions_) region.hide();
  far_.hide();
  wide_.hide();
  chosen_.hide();
  crosshair_.hide();
  measured_.set_listed(shot_.has_value());
  ideal_->removeFromLegend();
  set_axes(tr("workers N"), axis_label(view_, shot_ && shot_->changed));
  const double last = shot_ ? static_cast<double>(shot_->limit) : 64.0;
  set_worker_axis(1.0, last, log_n_);
  if (shot_) {
    if (view_ == View::split) draw_split();
    draw_lines(quantity());
    draw_regions();
    draw_chosen();
  }
  replot(QCustomPlot::rpQueuedReplot);
}

void ScalingPlot::draw_lines(Quantity quantity) {
  const Snapshot& shot = *shot_;
  const bool split = view_ == View::split;
  // The stack shows the changed step; the unchanged prediction is a line.
  draw_line(own_, shot.own && !split ? &*shot.own : nullptr, quantity);
  draw_line(predicted_, &shot.predicted, quantity);
  draw_line(changed_, shot.changed && !split ? &*shot.changed : nullptr, quantity);
  predicted_.set_band_visible(!split);
  restyle_predicted();

  Columns points;
  const double unit = in_axis_units(quantity);
  for (const MeasuredPoint& point : shot.measured) {
    const std::optional<Figure> at = figure(point, quantity);
    if (!at || point.workers > shot.limit) continue;
    points.x.push_back(static_cast<double>(point.workers));
    points.y.push_back(unit * at->value);
    points.low.push_back(unit * at->low);
    points.high.push_back(unit * at->high);
  }
  measured_.set(points.x, points.y, points.low, points.high);
  measured_.points()->setName(split ? tr("measured (bar of its parts)") : tr("measured"));

  const CurvePoint* one = shot.predicted.points.empty() ? nullptr : &shot.predicted.points.front();
  if (one != nullptr && !split) {
    QVector<double> x, y;
    for (const CurvePoint& point : shot.predicted.points) {
      const auto n = static_cast<double>(point.workers);
      // The value at one worker, derived from the first point.
      const double of_one = quantity == Quantity::throughput ? one->throughput.value / one->speedup.value
                            : quantity == Quantity::step     ? one->step_s.value * one->efficiency.value
                                                             : 1.0;
      const bool grows = quantity == Quantity::throughput || quantity == Quantity::speedup;
      x.push_back(n);
      y.push_back(unit * of_one * (grows ? n : 1.0));
    }
    ideal_->setData(x, y, true);
    ideal_->addToLegend();
    // Speedup and efficiency of a change are relative to one worker without the change.
    const QString one_worker = shot.changed ? tr("one unchanged worker") : tr("one worker");
    ideal_->setName(quantity == Quantity::efficiency
                        ? (shot.changed ? tr("100 %: %1").arg(one_worker) : tr("ideal: 100 %"))
                    : quantity == Quantity::step ? tr("ideal: %1").arg(one_worker)
                                                 : tr("ideal: N × %1").arg(one_worker));
  }
  scale_values(quantity, split || quantity == Quantity::step || quantity == Quantity::efficiency);
}

void ScalingPlot::scale_values(Quantity quantity, bool from_zero) {
  const Snapshot& shot = *shot_;
  const double unit = in_axis_units(quantity);
  double low = std::numeric_limits<double>::max(), middle_high = 0.0, high = 0.0;
  // A stack is drawn without intervals.
  const bool bands = view_ != View::split;
  const auto see = [&](const Figure& at, bool band) {
    low = std::min(low, unit * (band ? at.low : at.value));
    middle_high = std::max(middle_high, unit * at.value);
    high = std::max(high, unit * (band ? at.high : at.value));
  };
  for (const Curve* curve : {&shot.predicted, shot.changed ? &*shot.changed : nullptr})
    if (curve != nullptr)
      for (const CurvePoint& point : curve->points) see(figure(point, quantity), bands);
  for (const MeasuredPoint& point : shot.measured)
    if (const auto at = figure(point, quantity); at && point.workers <= shot.limit) see(*at, true);
  if (!(middle_high > 0.0)) return;
  // Limits an interval that spans orders of magnitude, so that the lines stay readable.
  high = std::min(high, 2.0 * middle_high);
  if (quantity == Quantity::efficiency) high = std::max(high, 100.0);
  const bool logarithmic = log_n_ && !from_zero;
  // Limits the ideal line in the same way.
  if (const auto ideal = ideal_->data(); !ideal->isEmpty())
    high = std::max(high, logarithmic ? (ideal->constEnd() - 1)->value
                                      : std::min((ideal->constEnd() - 1)->value, 1.6 * middle_high));
  yAxis->setScaleType(logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
  if (logarithmic) {
    yAxis->setTicker(QSharedPointer<CompactTicker<QCPAxisTickerLog>>::create());
    yAxis->setRange(std::max(low, 1e-3 * middle_high) / 1.4, high * 1.6);
  } else {
    yAxis->setTicker(QSharedPointer<CompactTicker<QCPAxisTicker>>::create());
    yAxis->setRange(0.0, high * 1.15);
  }
}

void ScalingPlot::draw_regions() {
  const Snapshot& shot = *shot_;
  const std::vector<fit::Knee>& knees = shot.shown_knees();
  const double end = xAxis->range().upper;
  for (std::size_t i = 0; i < knees.size() && i < regions_.size(); ++i) {
    if (!knees[i].workers) continue;
    double to = end;
    for (std::size_t j = i + 1; j < knees.size(); ++j)
      if (knees[j].workers) to = std::min(to, static_cast<double>(*knees[j].workers));
    const auto from = static_cast<double>(*knees[i].workers);
    if (to <= from) continue;
    // Each label names its share and its own N, because a label without room above its bracket is beside another one.
    // The knees of a first look are approximate and have no N.
    const QString share = copies_ ? tr("copies > %1 %") : tr("exposed > %1 %");
    const QString from_text = shot.knees_of_drawn ? QString() : tr("from N = %1").arg(*knees[i].workers);
    QStringList lines{share.arg(100.0 * knees[i].share), from_text};
    if (i + 1 == knees.size()) lines = {tr("knee: communication-bound"), lines.join(QLatin1Char(' '))};
    regions_[i].set(from, to, lines.join(QLatin1Char('\n')).trimmed());
  }
  const CurvePoint *first_far = nullptr, *first_wide = nullptr;
  for (const CurvePoint& point : shot.shown().points) {
    if (point.far && first_far == nullptr) first_far = &point;
    if (point.wide && first_wide == nullptr) first_wide = &point;
  }
  if (first_far != nullptr)
    far_.set(static_cast<double>(first_far->workers), end,
             tr("beyond %1 × the largest measured N (dashed)").arg(far_beyond));
  if (first_wide != nullptr)
    wide_.set(static_cast<double>(first_wide->workers), end, tr("interval wider than a factor of 10"));
}

void ScalingPlot::make_room() {
  std::vector<QRectF> taken;
  for (Region& region : regions_) region.make_room(taken);
  far_.make_room(taken);
  wide_.make_room(taken);
  chosen_.make_room(taken);
  bars().make_room();
}

std::vector<QRectF> ScalingPlot::label_boxes() const {
  std::vector<QRectF> boxes{chosen_.text_box(), far_.label_box(), wide_.label_box()};
  for (const Region& region : regions_) boxes.push_back(region.label_box());
  std::erase_if(boxes, [](const QRectF& box) { return box.isEmpty(); });
  return boxes;
}

void ScalingPlot::draw_chosen() {
  const std::int64_t n = shot_->knobs.workers;
  chosen_.set(static_cast<double>(n), tr("N = %1").arg(n));
}

// A line on an area of the same colour would be invisible.
void ScalingPlot::restyle_predicted() {
  const bool split = view_ == View::split;
  predicted_.restyle(split ? Colour::measured : Colour::predicted, 2.0, split ? Qt::DashDotLine : Qt::SolidLine);
}

void ScalingPlot::restyle_all() {
  constexpr std::array strengths = {0.35, 0.60, 1.0};
  for (std::size_t i = 0; i < regions_.size(); ++i) regions_[i].restyle(Colour::knee, strengths[i]);
  far_.restyle(Colour::other, 0.35, Qt::BDiagPattern);
  wide_.restyle(Colour::warning, 0.45, Qt::FDiagPattern);
  ddp_stack_.restyle();
  dp_stack_.restyle();
  ddp_bars_.restyle();
  dp_bars_.restyle();
  ideal_->setPen(pen(Colour::ideal, 1.6, Qt::DashDotLine));
  own_.restyle(Colour::other, 1.4, Qt::DotLine);
  restyle_predicted();
  changed_.restyle(Colour::what_if, 2.4);
  measured_.restyle(Colour::measured);
  chosen_.restyle(Qt::SolidLine);
  crosshair_.restyle(Qt::DotLine);
}

}  // namespace ddpprof::gui::whatif
