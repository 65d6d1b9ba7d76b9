// Mouse and keyboard handling of the timeline.
#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/timeline/timeline_view.hpp"

namespace ddpprof::gui {
namespace {

constexpr double zoom_step = 1.25;           // for a key or a notch of the wheel
constexpr double pan_share = 0.12;           // of the view, for a key
constexpr double degrees_per_notch = 120.0;  // Qt counts in eighths of a degree

}  // namespace

void TimelineView::zoom(double x, double factor) {
  if (!timeline_) return;
  set_axis(zoomed(axis_, x, factor, area_width(), span_ns()));
  moved_ = axis_ != whole(span_ns(), area_width());
}

void TimelineView::pan(double dx) {
  if (!timeline_) return;
  moved_ = true;
  set_axis(panned(axis_, dx, area_width(), span_ns()));
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  event->accept();
  const QPoint turned = event->angleDelta();
  const double x = event->position().x() - painter_.gutter();
  const bool sideways = (event->modifiers() & Qt::ShiftModifier) != 0 || std::abs(turned.x()) > std::abs(turned.y());
  if (sideways) {
    const int by = turned.x() != 0 ? turned.x() : turned.y();
    pan(by / degrees_per_notch * pan_share * area_width());
  } else if (x < 0.0 || (event->modifiers() & Qt::AltModifier) != 0) {
    verticalScrollBar()->setValue(verticalScrollBar()->value() -
                                  static_cast<int>(turned.y() / degrees_per_notch * 3.0 * options_.row_height));
  } else {
    zoom(x, std::pow(zoom_step, turned.y() / degrees_per_notch));
  }
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (!timeline_ || event->button() != Qt::LeftButton) return;
  pressed_ = last_ = event->position().toPoint();
  const bool in_area = pressed_.x() >= painter_.gutter();
  pressed_ns_ = axis_.ns_of(pressed_.x() - painter_.gutter());
  const bool select =
      in_area && (select_mode_ || (event->modifiers() & Qt::ShiftModifier) != 0 || pressed_.y() < painter_.ruler());
  drag_ = select ? Drag::select : Drag::maybe_pan;
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  if (drag_ == Drag::none) return;
  const QPoint at = event->position().toPoint();
  if (drag_ == Drag::maybe_pan && (at - pressed_).manhattanLength() >= QApplication::startDragDistance()) {
    drag_ = Drag::pan;
    viewport()->setCursor(Qt::ClosedHandCursor);
  }
  if (drag_ == Drag::pan) {
    pan(at.x() - last_.x());
    verticalScrollBar()->setValue(verticalScrollBar()->value() - (at.y() - last_.y()));
  } else if (drag_ == Drag::select) {
    const double now_ns = axis_.ns_of(std::clamp<double>(at.x() - painter_.gutter(), 0.0, area_width()));
    const auto [from, to] = std::minmax(pressed_ns_, now_ns);
    range_ = std::pair(absolute(from), absolute(to));
    viewport()->update();
  }
  last_ = at;
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || drag_ == Drag::none) return;
  const Drag was = std::exchange(drag_, Drag::none);
  viewport()->setCursor(select_mode_ ? Qt::IBeamCursor : Qt::ArrowCursor);
  const QPoint at = event->position().toPoint();
  if (was == Drag::select && std::abs(at.x() - pressed_.x()) >= 2) {
    choose_range(pressed_ns_, axis_.ns_of(std::clamp<double>(at.x() - painter_.gutter(), 0.0, area_width())));
  } else if (was == Drag::select) {
    range_.reset();
    viewport()->update();
    emit range_cleared();
  } else if (was == Drag::maybe_pan) {
    click(at);
  }
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  const std::optional<Hit> found = hit_at(event->position().toPoint());
  if (!found || event->button() != Qt::LeftButton) return;
  const timeline::Row& row = timeline_->rows[found->event.row];
  show_range(row.start_ns[found->first], row.end_ns(found->first + found->count - 1));
}

void TimelineView::click(const QPoint& point) {
  const Line* line =
      point.y() < painter_.ruler() ? nullptr : layout_.at(point.y() - painter_.ruler() + verticalScrollBar()->value());
  if (line != nullptr && line->what == Line::What::header && (point.x() < painter_.gutter() || !line->has_row)) {
    set_collapsed(line->rank, !collapsed(line->rank));
    return;
  }
  const std::optional<Hit> found = hit_at(point);
  set_focus(found ? std::optional(found->event) : std::nullopt, false);
}

bool TimelineView::focus_in_view() {
  if (focus_) return true;
  if (!timeline_) return false;
  const std::int64_t left = absolute(axis_.left_ns), right = absolute(axis_.ns_of(area_width()));
  const int top = verticalScrollBar()->value();
  const auto [first, last] = layout_.between(top, top + viewport()->height() - painter_.ruler());
  for (std::size_t i = first; i < last; ++i) {
    const Line& line = layout_.lines()[i];
    if (!line.has_row) continue;
    const timeline::Row& row = timeline_->rows[line.row];
    const std::size_t event = row.first_touching(left);
    if (event < row.size() && row.start_ns[event] < right) {
      set_focus(timeline::EventRef{line.row, static_cast<std::uint32_t>(event)});
      return false;  // the key only set the focus
    }
  }
  return false;
}

void TimelineView::step_focus(int by) {
  if (!focus_in_view()) return;
  const std::int64_t wanted = std::int64_t{focus_->event} + by;
  if (wanted < 0 || wanted >= static_cast<std::int64_t>(timeline_->rows[focus_->row].size())) return;
  set_focus(timeline::EventRef{focus_->row, static_cast<std::uint32_t>(wanted)});
}

void TimelineView::step_line(int by) {
  if (!focus_in_view()) return;
  const Line* line = layout_.of_row(focus_->row);
  if (line == nullptr) return;
  const std::int64_t time_ns = timeline_->rows[focus_->row].start_ns[focus_->event];
  const Line* end = layout_.lines().data() + layout_.lines().size();
  for (line += by; line >= layout_.lines().data() && line < end; line += by) {
    if (!line->has_row || timeline_->rows[line->row].size() == 0) continue;
    const timeline::Row& row = timeline_->rows[line->row];
    const std::size_t event = std::min(row.first_touching(time_ns), row.size() - 1);
    set_focus(timeline::EventRef{line->row, static_cast<std::uint32_t>(event)});
    return;
  }
}

bool TimelineView::view_key(int key) {
  const double middle = area_width() / 2.0;
  switch (key) {
    case Qt::Key_W:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoom(middle, zoom_step);
      return true;
    case Qt::Key_S:
    case Qt::Key_Minus:
      zoom(middle, 1.0 / zoom_step);
      return true;
    case Qt::Key_A:
      pan(pan_share * area_width());
      return true;
    case Qt::Key_D:
      pan(-pan_share * area_width());
      return true;
    case Qt::Key_0:
      show_all();
      return true;
    case Qt::Key_Home:
      pan(1e15);
      return true;
    case Qt::Key_End:
      pan(-1e15);
      return true;
    case Qt::Key_PageUp:
      verticalScrollBar()->triggerAction(QAbstractSlider::SliderPageStepSub);
      return true;
    case Qt::Key_PageDown:
      verticalScrollBar()->triggerAction(QAbstractSlider::SliderPageStepAdd);
      return true;
    case Qt::Key_M:
      set_select_mode(!select_mode_);
      return true;
    default:
      return false;
  }
}

bool TimelineView::focus_key(int key, bool ctrl) {
  switch (key) {
    case Qt::Key_Left:
      ctrl ? pan(pan_share * area_width()) : step_focus(-1);
      return true;
    case Qt::Key_Right:
      ctrl ? pan(-pan_share * area_width()) : step_focus(1);
      return true;
    case Qt::Key_Up:
      step_line(-1);
      return true;
    case Qt::Key_Down:
      step_line(1);
      return true;
    case Qt::Key_F:
      if (focus_) {
        const timeline::Event event = timeline_->rows[focus_->row].at(focus_->event);
        show_range(event.start_ns, std::max(event.end_ns(), event.start_ns + 100));
      } else if (range_) {
        show_range(range_->first, range_->second);
      }
      return true;
    case Qt::Key_R:
      if (focus_ && timeline_->rows[focus_->row].duration_ns[focus_->event] > 0) {
        const timeline::Event event = timeline_->rows[focus_->row].at(focus_->event);
        choose_range(since_begin(event.start_ns), since_begin(event.end_ns()));
      } else {
        choose_range(axis_.left_ns, axis_.ns_of(area_width()));
      }
      return true;
    case Qt::Key_C:
      if (focus_) {
        const std::uint32_t rank = timeline_->tracks[timeline_->rows[focus_->row].track].rank;
        set_collapsed(rank, !collapsed(rank));
      }
      return true;
    case Qt::Key_Escape:
      if (select_mode_) {
        set_select_mode(false);
      } else if (range_) {
        range_.reset();
        viewport()->update();
        emit range_cleared();
      } else {
        set_focus(std::nullopt);
      }
      return true;
    default:
      return false;
  }
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  const bool ctrl = (event->modifiers() & Qt::ControlModifier) != 0;
  const bool shift = (event->modifiers() & Qt::ShiftModifier) != 0;
  const bool arrow = event->key() == Qt::Key_Left || event->key() == Qt::Key_Right;
  if (timeline_ && (event->modifiers() & Qt::AltModifier) == 0 && (!ctrl || arrow) &&
      ((shift && range_key(event->key(), ctrl)) || view_key(event->key()) || focus_key(event->key(), ctrl))) {
    event->accept();
    return;
  }
  event->ignore();  // for the window's shortcuts and Tab
}

}  // namespace ddpprof::gui
