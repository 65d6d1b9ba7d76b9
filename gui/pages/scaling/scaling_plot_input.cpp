// Reading values from the scaling plot and selecting N, by mouse and by keyboard.
#include <QKeyEvent>
#include <QMouseEvent>
#include <algorithm>
#include <cmath>

#include "gui/pages/scaling/scaling_plot.hpp"

namespace ddpprof::gui::whatif {
namespace {

QString text_of(const Figure& at, Quantity quantity) {
  return QString::fromStdString(figure_text(at.value, quantity) + " (" + figure_text(at.low, quantity) + " … " +
                                figure_text(at.high, quantity) + ")");
}

}  // namespace

QString ScalingPlot::reading(std::int64_t workers) const {
  if (!shot_) return {};
  QStringList lines;
  const Quantity shown = quantity();
  const auto add = [&](const QString& name, const Curve* curve) {
    const CurvePoint* point = curve != nullptr ? curve->at(workers) : nullptr;
    if (point != nullptr) lines += tr("%1: %2").arg(name, text_of(figure(*point, shown), shown));
  };
  add(tr("predicted"), &shot_->predicted);
  add(tr("what if"), shot_->changed ? &*shot_->changed : nullptr);
  add(tr("machine as measured"), shot_->own ? &*shot_->own : nullptr);
  for (const MeasuredPoint& point : shot_->measured)
    if (const auto at = figure(point, shown); at && point.workers == workers)
      lines += tr("measured: %1").arg(text_of(*at, shown));
  if (lines.isEmpty()) return {};
  if (view_ == View::split) lines += reading_of_parts(workers);
  lines.prepend(tr("N = %1").arg(workers));
  return lines.join('\n');
}

std::int64_t ScalingPlot::nearest_drawn(double x) const {
  if (!shot_ || shot_->shown().points.empty()) return 0;
  const auto& points = shot_->shown().points;
  const auto apart = [&](const CurvePoint& point) {
    const auto n = static_cast<double>(point.workers);
    return log_n_ ? std::abs(std::log(n / std::max(x, 1e-3))) : std::abs(n - x);
  };
  return std::min_element(points.begin(), points.end(),
                          [&](const CurvePoint& a, const CurvePoint& b) { return apart(a) < apart(b); })
      ->workers;
}

std::optional<std::int64_t> ScalingPlot::crosshair_workers() const {
  if (!crosshair_.visible()) return std::nullopt;
  return static_cast<std::int64_t>(crosshair_.x());
}

void ScalingPlot::place_crosshair(std::int64_t workers) {
  const QString text = reading(workers);
  if (text.isEmpty()) return crosshair_.hide();
  crosshair_.set(static_cast<double>(workers), text);
  setAccessibleDescription(text);
  // The lines do not change; only the overlay is drawn again.
  layer(QStringLiteral("overlay"))->replot();
}

void ScalingPlot::mouseMoveEvent(QMouseEvent* event) {
  QCustomPlot::mouseMoveEvent(event);
  if (!shot_ || !axisRect()->rect().contains(event->pos())) return;
  place_crosshair(nearest_drawn(xAxis->pixelToCoord(event->position().x())));
}

void ScalingPlot::mouseReleaseEvent(QMouseEvent* event) {
  QCustomPlot::mouseReleaseEvent(event);
  if (event->button() != Qt::LeftButton || !shot_ || !axisRect()->rect().contains(event->pos())) return;
  if (const std::int64_t n = nearest_drawn(xAxis->pixelToCoord(event->position().x())); n > 0) emit workers_picked(n);
}

void ScalingPlot::leaveEvent(QEvent* event) {
  QCustomPlot::leaveEvent(event);
  if (!crosshair_.visible()) return;
  crosshair_.hide();
  layer(QStringLiteral("overlay"))->replot();
}

void ScalingPlot::step_along(int by) {
  const auto& points = shot_->shown().points;
  if (points.empty()) return;
  const auto at = std::find_if(points.begin(), points.end(), [&](const CurvePoint& point) {
    return point.workers == nearest_drawn(static_cast<double>(shot_->knobs.workers));
  });
  const auto next = std::clamp<std::ptrdiff_t>(at - points.begin() + by, 0, std::ssize(points) - 1);
  emit workers_picked(points[static_cast<std::size_t>(next)].workers);
}

void ScalingPlot::keyPressEvent(QKeyEvent* event) {
  if (shot_) {
    switch (event->key()) {
      case Qt::Key_Left:
        return step_along(-1);
      case Qt::Key_Right:
        return step_along(1);
      case Qt::Key_Home:
        return step_along(-static_cast<int>(most_workers));
      case Qt::Key_End:
        return step_along(static_cast<int>(most_workers));
      default:
        break;
    }
  }
  QCustomPlot::keyPressEvent(event);
}

}  // namespace ddpprof::gui::whatif
