#include "gui/timeline/overview_strip.hpp"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/plots/colours.hpp"
#include "gui/plots/design.hpp"

namespace ddpprof::gui {
namespace {

constexpr int strip_px = 4 * grid_px, low_strip_px = 2 * grid_px;  // the second on a low window
constexpr double side_px = 5.0;                                    // distance from a side at which dragging changes it
constexpr double narrowest_view_px = 2.0;                          // a narrower part in view is still drawn

}  // namespace

OverviewStrip::OverviewStrip(QWidget* parent) : QWidget(parent), job_(this) {
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Maximum);
  setAccessibleName(tr("Overview of the timeline"));
}

QSize OverviewStrip::sizeHint() const { return {30 * grid_px, strip_px}; }
QSize OverviewStrip::minimumSizeHint() const { return {30 * grid_px, low_strip_px}; }

void OverviewStrip::set_timeline(std::shared_ptr<const timeline::Timeline> timeline) {
  if (timeline == timeline_) return;
  timeline_ = std::move(timeline);
  drag_ = Drag::none;
  compute();
}

void OverviewStrip::compute() {
  job_.cancel();
  if (!timeline_ || width() <= gutter_) {
    utilisation_.reset();
    update();
    return;
  }
  const auto parts = static_cast<std::size_t>(std::max(1, (width() - gutter_) / 2));
  job_.start([all = timeline_, parts](const Cancelled&) { return timeline::utilisation(*all, parts); },
             [this](timeline::Utilisation made) {
               utilisation_ = std::move(made);
               setToolTip(utilisation_->of_devices
                              ? tr("Share of time in which the devices run kernels or copies, mean over the ranks, at "
                                   "most. Drag the part in view or its sides.")
                              : tr("Share of time in which the ranks compute, mean over the ranks; empty where it was "
                                   "not recorded. Drag the part in view or its sides."));
               update();
             },
             [](const std::string&) {});
}

void OverviewStrip::set_view(double left_ns, double right_ns) {
  if (left_ns == left_ns_ && right_ns == right_ns_) return;
  left_ns_ = left_ns;
  right_ns_ = right_ns;
  update();
}

void OverviewStrip::set_gutter(int pixels) {
  if (pixels == gutter_) return;
  gutter_ = pixels;
  compute();
}

double OverviewStrip::span_ns() const {
  return timeline_ ? std::max(1.0, static_cast<double>(timeline_->end_ns - timeline_->begin_ns)) : 1.0;
}
double OverviewStrip::x_of(double ns) const { return gutter_ + ns / span_ns() * (width() - gutter_); }
double OverviewStrip::ns_of(double x) const { return (x - gutter_) / std::max(1, width() - gutter_) * span_ns(); }

QRectF OverviewStrip::view_box() const {
  const double left = std::max<double>(gutter_, x_of(left_ns_));
  const double right = std::min<double>(width(), std::max(x_of(right_ns_), left + narrowest_view_px));
  return {left, 0.0, right - left, static_cast<double>(height())};
}

OverviewStrip::Drag OverviewStrip::drag_at(double x) const {
  const QRectF box = view_box();
  const bool whole = box.width() >= width() - gutter_ - 1;
  if (std::abs(x - box.left()) <= side_px) return Drag::left;
  if (std::abs(x - box.right()) <= side_px) return Drag::right;
  return !whole && box.contains(QPointF(x, 1.0)) ? Drag::move : Drag::fresh;
}

void OverviewStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Window));
  const QRect area(gutter_, 0, width() - gutter_, height());
  painter.fillRect(area, palette().color(QPalette::Base));
  if (!timeline_) return;
  painter.setPen(palette().color(QPalette::WindowText));
  const bool devices = utilisation_ && utilisation_->of_devices;
  painter.drawText(QRect(grid_px, 0, gutter_ - grid_px, height()), Qt::AlignLeft | Qt::AlignVCenter,
                   devices ? tr("devices busy") : tr("ranks compute"));
  if (utilisation_ && !utilisation_->shares.empty()) {
    const QColor fill = colour(Colour::compute, palette());
    const auto count = static_cast<double>(utilisation_->shares.size());
    for (std::size_t i = 0; i < utilisation_->shares.size(); ++i) {
      if (!utilisation_->shares[i]) continue;
      const double x0 = area.left() + area.width() * static_cast<double>(i) / count;
      const double x1 = area.left() + area.width() * static_cast<double>(i + 1) / count;
      const double high = *utilisation_->shares[i] * (height() - 4);
      painter.fillRect(QRectF(x0, height() - 2 - high, x1 - x0, high), fill);
    }
  }
  const QRectF box = view_box();
  QColor veil = palette().color(QPalette::Window);
  veil.setAlpha(170);
  painter.fillRect(QRectF(area.left(), 0, box.left() - area.left(), height()), veil);
  painter.fillRect(QRectF(box.right(), 0, area.right() + 1 - box.right(), height()), veil);
  painter.setPen(QPen(pressed_colour(palette()), 1.0));
  painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
  for (const double side : {box.left(), box.right() - 3.0})
    painter.fillRect(QRectF(side, height() / 4.0, 3.0, height() / 2.0), pressed_colour(palette()));
}

void OverviewStrip::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  compute();
}

void OverviewStrip::mousePressEvent(QMouseEvent* event) {
  const double x = event->position().x();
  if (event->button() != Qt::LeftButton || !timeline_ || x < gutter_) return;
  drag_ = drag_at(x);
  pressed_ns_ = ns_of(x);
  pressed_left_ns_ = std::max(0.0, left_ns_);
  pressed_right_ns_ = std::min(span_ns(), right_ns_);
}

void OverviewStrip::mouseMoveEvent(QMouseEvent* event) {
  const double x = event->position().x();
  if (drag_ == Drag::none) {
    const Drag would = timeline_ && x >= gutter_ ? drag_at(x) : Drag::none;
    setCursor(would == Drag::left || would == Drag::right ? Qt::SizeHorCursor
              : would == Drag::move                       ? Qt::OpenHandCursor
                                                          : Qt::ArrowCursor);
    return;
  }
  const double at_ns = std::clamp(ns_of(x), 0.0, span_ns());
  double left_ns = pressed_left_ns_, right_ns = pressed_right_ns_;
  if (drag_ == Drag::move) {
    const double by_ns = std::clamp(ns_of(x) - pressed_ns_, -left_ns, span_ns() - right_ns);
    left_ns += by_ns;
    right_ns += by_ns;
  } else if (drag_ == Drag::left) {
    left_ns = at_ns;
  } else if (drag_ == Drag::right) {
    right_ns = at_ns;
  } else {
    left_ns = pressed_ns_;
    right_ns = at_ns;
  }
  if (left_ns > right_ns) std::swap(left_ns, right_ns);
  if (right_ns - left_ns >= 1.0) emit view_requested(left_ns, right_ns);
}

void OverviewStrip::mouseReleaseEvent(QMouseEvent* event) {
  // A click without a drag outside of the part in view moves the view there.
  if (drag_ == Drag::fresh && event->button() == Qt::LeftButton &&
      std::abs(x_of(pressed_ns_) - event->position().x()) < 3.0) {
    const double half_ns = 0.5 * (pressed_right_ns_ - pressed_left_ns_);
    const double middle_ns = std::clamp(pressed_ns_, half_ns, std::max(half_ns, span_ns() - half_ns));
    emit view_requested(middle_ns - half_ns, middle_ns + half_ns);
  }
  drag_ = Drag::none;
}

}  // namespace ddpprof::gui
