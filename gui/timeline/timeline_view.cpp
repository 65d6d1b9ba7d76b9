#include "gui/timeline/timeline_view.hpp"

#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "analysis/report/units.hpp"
#include "analysis/timeline/details.hpp"

namespace ddpprof::gui {
namespace {

QString quantity(double value, const char* unit) {
  return QString::fromStdString(report::format_quantity(value, unit));
}

}  // namespace

TimelineView::TimelineView(QWidget* parent) : QAbstractScrollArea(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Timeline"));
  setAccessibleDescription(tr("Events of all ranks over time; the arrow keys go from event to event"));
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
  viewport()->setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
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
    // The same event in the fuller timeline, whose rows have other numbers.
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

void TimelineView::set_range(std::optional<std::pair<std::int64_t, std::int64_t>> range) {
  if (range == range_) return;
  range_ = range;
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
  options_.raw = shown;
  lay_out();
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
}

void TimelineView::set_focus(std::optional<timeline::EventRef> event, bool reveal) {
  if (event && reveal) {
    const timeline::Row& row = timeline_->rows[event->row];
    const timeline::Track& track = timeline_->tracks[row.track];
    if (layout_.of_row(event->row) == nullptr && collapsed(track.rank)) set_collapsed(track.rank, false);
    const double from = since_begin(row.start_ns[event->event]), to = since_begin(row.end_ns(event->event));
    set_axis(revealing(axis_, from, to, area_width(), span_ns()));
    if (const Line* line = layout_.of_row(event->row)) {
      const int area = viewport()->height() - painter_.ruler();
      QScrollBar* bar = verticalScrollBar();
      if (line->y < bar->value()) bar->setValue(std::max(0, line->y - options_.header_height));
      if (line->y + line->height > bar->value() + area) bar->setValue(line->y + line->height - area);
    }
  }
  if (event == focus_) return;
  focus_ = event;
  if (event) {
    const timeline::Row& row = timeline_->rows[event->row];
    const timeline::Track& track = timeline_->tracks[row.track];
    setAccessibleDescription(tr("%1, %2, %3")
                                 .arg(QString::fromStdString(timeline_->names.text(row.name[event->event])),
                                      QString::fromStdString(timeline_->ranks[track.rank].title()),
                                      QString::fromStdString(track.name)));
  }
  viewport()->update();
  emit focus_changed();
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

std::optional<Hit> TimelineView::hit_at(const QPoint& point) const {
  if (!timeline_ || point.x() < painter_.gutter() || point.y() < painter_.ruler()) return std::nullopt;
  const Line* line = layout_.at(point.y() - painter_.ruler() + verticalScrollBar()->value());
  if (line == nullptr || !line->has_row) return std::nullopt;
  return hit(*timeline_, line->row, axis_, point.x() - painter_.gutter());
}

QString TimelineView::text_at(const QPoint& point) const {
  const std::optional<Hit> found = hit_at(point);
  if (!found) {
    if (!timeline_ || point.y() < painter_.ruler() || point.x() >= painter_.gutter()) return {};
    const Line* line = layout_.at(point.y() - painter_.ruler() + verticalScrollBar()->value());
    if (line == nullptr) return {};
    const QString rank = QString::fromStdString(timeline_->ranks[line->rank].title());
    return line->what == Line::What::header ? tr("%1\nclick to collapse or open").arg(rank)
                                            : rank + "\n" + QString::fromStdString(timeline_->tracks[line->track].name);
  }
  const timeline::Row& row = timeline_->rows[found->event.row];
  const timeline::Track& track = timeline_->tracks[row.track];
  const timeline::Event event = row.at(found->event.event);
  QStringList lines;
  const QString name = QString::fromStdString(timeline_->names.text(event.name));
  if (found->count > 1) {
    std::int64_t busy_ns = 0;
    for (std::uint32_t i = found->first; i < found->first + found->count; ++i) busy_ns += row.duration_ns[i];
    lines << tr("%n events folded here, %1 in all; zoom in to see them", nullptr, static_cast<int>(found->count))
                 .arg(quantity(static_cast<double>(busy_ns) * 1e-9, "s"))
          << tr("longest: %1").arg(name);
  } else {
    lines << name;
  }
  lines << tr("%1 · %2").arg(QString::fromStdString(timeline_->ranks[track.rank].title()),
                             QString::fromStdString(track.name));
  if (event.duration_ns > 0)
    lines << tr("duration %1").arg(quantity(static_cast<double>(event.duration_ns) * 1e-9, "s"));
  lines << tr("start %1")
               .arg(QString::fromStdString(time_label(since_begin(event.start_ns), std::max(1.0, axis_.ns_per_px))));
  if (const auto bytes = timeline::bytes_of(*timeline_, found->event))
    lines << tr("size %1").arg(QString::fromStdString(report::format_bytes(*bytes)));
  return lines.join('\n');
}

bool TimelineView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString text = text_at(help->pos());
    text.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), text, viewport());
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace ddpprof::gui
