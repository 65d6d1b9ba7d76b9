#include "gui/timeline/timeline_view.hpp"

#include <QApplication>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/plots/picture_actions.hpp"

namespace ddpprof::gui {

TimelineView::TimelineView(QWidget* parent) : QAbstractScrollArea(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Timeline"));
  setAccessibleDescription(tr("Events of all ranks over time; the arrow keys go from event to event"));
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
  viewport()->setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  setContextMenuPolicy(Qt::ActionsContextMenu);
  add_picture_actions(
      *this, [this] { copy_picture(); }, [this] { ask_and_save(); });
  restyle();
}

void TimelineView::restyle() {
  painter_.set_style(palette(), font());
  options_.header_height = painter_.header_height();
  options_.row_height = painter_.row_height();
  lay_out();
}

void TimelineView::set_timeline(std::shared_ptr<const timeline::Timeline> timeline) {
  const bool same = timeline_ && timeline && timeline_->measurement == timeline->measurement;
  const std::int64_t old_begin_ns = timeline_ ? timeline_->begin_ns : 0;
  std::optional<timeline::Event> focused;
  std::uint32_t focused_rank = 0;
  timeline::TrackKind focused_kind{};
  if (same && focus_) {
    focused = timeline_->rows[focus_->row].at(focus_->event);
    const timeline::Track& track = timeline_->tracks[timeline_->rows[focus_->row].track];
    focused_rank = track.rank;
    focused_kind = track.kind;
  }
  timeline_ = std::move(timeline);
  painter_.forget_names();
  matches_.clear();
  hits_.clear();
  focus_.reset();
  if (same) {
    axis_.left_ns -= static_cast<double>(timeline_->begin_ns - old_begin_ns);
    pressed_ns_ -= static_cast<double>(timeline_->begin_ns - old_begin_ns);  // continues a drag
    // Finds the focused event in the more complete timeline, where its row has another number.
    if (focused)
      for (std::uint32_t r = 0; r < timeline_->rows.size() && !focus_; ++r) {
        const timeline::Row& row = timeline_->rows[r];
        const timeline::Track& track = timeline_->tracks[row.track];
        if (track.rank != focused_rank || track.kind != focused_kind) continue;
        for (std::size_t i = row.first_from(focused->start_ns);
             i < row.size() && row.start_ns[i] == focused->start_ns && !focus_; ++i)
          if (row.at(i) == *focused) focus_ = timeline::EventRef{r, static_cast<std::uint32_t>(i)};
      }
  } else {
    range_.reset();
    options_.collapsed.clear();
    moved_ = false;
    if (std::exchange(drag_, Drag::none) != Drag::none)
      viewport()->setCursor(select_mode_ ? Qt::IBeamCursor : Qt::ArrowCursor);
    verticalScrollBar()->setValue(0);
  }
  lay_out();
  if (!moved_)
    show_all();
  else
    set_axis(panned(axis_, 0.0, area_width(), span_ns()));
  emit focus_changed();
}

double TimelineView::span_ns() const {
  return timeline_ ? static_cast<double>(timeline_->end_ns - timeline_->begin_ns) : 1.0;
}
double TimelineView::since_begin(std::int64_t ns) const { return static_cast<double>(ns - timeline_->begin_ns); }
std::int64_t TimelineView::absolute(double ns) const {
  return timeline_->begin_ns + static_cast<std::int64_t>(std::llround(ns));
}
double TimelineView::area_width() const { return std::max(1, viewport()->width() - painter_.gutter()); }
QPoint TimelineView::area_origin() const { return {painter_.gutter(), painter_.ruler()}; }

void TimelineView::lay_out() {
  layout_ = timeline_ ? Layout(*timeline_, options_) : Layout();
  const int area = viewport()->height() - painter_.ruler();
  verticalScrollBar()->setRange(0, std::max(0, layout_.height() - area));
  verticalScrollBar()->setPageStep(std::max(1, area));
  verticalScrollBar()->setSingleStep(options_.row_height);
  viewport()->update();
}

void TimelineView::set_axis(const Axis& axis) {
  if (axis == axis_) return;
  axis_ = axis;
  viewport()->update();
  emit view_changed();
}

void TimelineView::show_all() {
  moved_ = false;
  set_axis(whole(span_ns(), area_width()));
}

void TimelineView::show_range(std::int64_t begin_ns, std::int64_t end_ns) {
  if (!timeline_) return;
  moved_ = true;
  set_axis(showing(since_begin(begin_ns), since_begin(end_ns), area_width(), span_ns()));
}

void TimelineView::show_exactly(double left_ns, double right_ns) {
  if (!timeline_ || !(right_ns > left_ns)) return;
  moved_ = true;
  const Axis axis{left_ns, std::max(finest_ns_per_px, (right_ns - left_ns) / area_width())};
  set_axis(panned(axis, 0.0, area_width(), span_ns()));
}

void TimelineView::set_range(std::optional<std::pair<std::int64_t, std::int64_t>> range) {
  if (range == range_) return;
  range_ = range;
  range_end_moves_ = true;
  viewport()->update();
}

void TimelineView::set_hits(std::vector<bool> matches, std::vector<timeline::EventRef> hits) {
  matches_ = std::move(matches);
  hits_ = std::move(hits);
  viewport()->update();
}

void TimelineView::set_flows(bool shown) {
  flows_ = shown;
  viewport()->update();
}

void TimelineView::set_raw(bool shown) {
  if (shown == options_.raw) return;
  options_.raw = shown;
  lay_out();
  keep_focus_in_sight();
  emit raw_changed(shown);
}

// The keys would still move a focus that is hidden. If its rank is collapsed, the focus moves to the step in the rank's
// header.
void TimelineView::keep_focus_in_sight() {
  if (!focus_ || layout_.of_row(focus_->row) != nullptr) return;
  const timeline::Row& hidden = timeline_->rows[focus_->row];
  std::optional<timeline::EventRef> instead;
  for (const Line& line : layout_.lines()) {
    if (line.rank != timeline_->tracks[hidden.track].rank || line.what != Line::What::header || !line.has_row) continue;
    const timeline::Row& row = timeline_->rows[line.row];
    if (row.size() == 0) break;
    const std::size_t event = std::min(row.first_touching(hidden.start_ns[focus_->event]), row.size() - 1);
    instead = timeline::EventRef{line.row, static_cast<std::uint32_t>(event)};
    break;
  }
  set_focus(instead, false);
}

void TimelineView::set_select_mode(bool on) {
  if (on == select_mode_) return;
  select_mode_ = on;
  viewport()->setCursor(on ? Qt::IBeamCursor : Qt::ArrowCursor);
  emit select_mode_changed(on);
}

bool TimelineView::collapsed(std::uint32_t rank) const {
  return rank < options_.collapsed.size() && options_.collapsed[rank];
}

void TimelineView::set_collapsed(std::uint32_t rank, bool collapsed) {
  if (!timeline_ || rank >= timeline_->ranks.size()) return;
  options_.collapsed.resize(timeline_->ranks.size(), false);
  options_.collapsed[rank] = collapsed;
  lay_out();
  keep_focus_in_sight();
}

void TimelineView::unhide(timeline::EventRef event) {
  const timeline::Track& track = timeline_->tracks[timeline_->rows[event.row].track];
  if (layout_.of_row(event.row) == nullptr && collapsed(track.rank)) set_collapsed(track.rank, false);
  if (layout_.of_row(event.row) == nullptr && timeline::is_raw(track.kind)) set_raw(true);
}

void TimelineView::go_to(timeline::EventRef event) {
  if (!timeline_) return;
  set_axis(showing_readably(*timeline_, event, axis_, area_width()));
  moved_ = axis_ != whole(span_ns(), area_width());
  set_focus(event);
  describe_focus();  // for an event that already has the focus, after a zoom
}

void TimelineView::set_focus(std::optional<timeline::EventRef> event, bool reveal) {
  if (event && reveal) {
    unhide(*event);
    const timeline::Row& row = timeline_->rows[event->row];
    const double from = since_begin(row.start_ns[event->event]), to = since_begin(row.end_ns(event->event));
    set_axis(revealing(axis_, from, to, area_width(), span_ns()));
    if (const Line* line = layout_.of_row(event->row)) {
      const int area = viewport()->height() - painter_.ruler();
      QScrollBar* bar = verticalScrollBar();
      if (line->y < bar->value()) bar->setValue(std::max(0, line->y - options_.header_height));
      // Also shows the next row, so that the focused row is not below the view's frame.
      if (line->y + line->height > bar->value() + area)
        bar->setValue(line->y + line->height + options_.row_height - area);
    }
  }
  if (event == focus_) return;
  focus_ = event;
  describe_focus();
  viewport()->update();
  emit focus_changed();
}

void TimelineView::describe_focus() {
  if (!focus_) return;
  const timeline::Row& row = timeline_->rows[focus_->row];
  const timeline::Track& track = timeline_->tracks[row.track];
  const std::size_t folded = folded_with(*timeline_, *focus_, axis_);
  setAccessibleDescription(tr("%1, %2, %3%4")
                               .arg(QString::fromStdString(timeline_->names.text(row.name[focus_->event])),
                                    QString::fromStdString(timeline_->ranks[track.rank].title()),
                                    QString::fromStdString(track.name),
                                    folded > 1 ? tr("; one of %L1 folded here").arg(folded) : QString()));
}

QRect TimelineView::rect_of(timeline::EventRef event) const {
  const Line* line = timeline_ ? layout_.of_row(event.row) : nullptr;
  if (line == nullptr) return {};
  const timeline::Row& row = timeline_->rows[event.row];
  const double x0 = axis_.x_of(since_begin(row.start_ns[event.event]));
  const double x1 = std::max(axis_.x_of(since_begin(row.end_ns(event.event))), x0 + 1.0);
  const int y = line->y - verticalScrollBar()->value();
  const QRectF box(painter_.gutter() + x0, painter_.ruler() + y, x1 - x0, line->height);
  return box.intersected(QRectF(area_origin(), QPointF(viewport()->width(), viewport()->height()))).toAlignedRect();
}

const Scene& TimelineView::scene() {
  scene_.timeline = timeline_.get();
  scene_.layout = &layout_;
  scene_.axis = axis_;
  scene_.width = viewport()->width();
  scene_.height = viewport()->height();
  scene_.scroll_y = verticalScrollBar()->value();
  scene_.focus = focus_;
  scene_.range.reset();
  if (timeline_ && range_) scene_.range = std::pair(since_begin(range_->first), since_begin(range_->second));
  scene_.matches = hits_.empty() ? nullptr : &matches_;
  scene_.hits = hits_.empty() ? nullptr : &hits_;
  scene_.flows = flows_;
  scene_.has_focus = hasFocus();
  return scene_;
}

void TimelineView::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter_.paint(painter, scene());
}

void TimelineView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  lay_out();
  if (!moved_)
    show_all();
  else
    set_axis(panned(axis_, 0.0, area_width(), span_ns()));
}

void TimelineView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
      event->type() == QEvent::StyleChange)
    restyle();
  QAbstractScrollArea::changeEvent(event);
}

void TimelineView::focusInEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusInEvent(event);
  viewport()->update();
}
void TimelineView::focusOutEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusOutEvent(event);
  viewport()->update();
}

}  // namespace ddpprof::gui
