#include "gui/widgets/lane_painter.hpp"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>

namespace ddpprof::gui {
namespace {

using step::SegmentKind;

constexpr double least_text_width = 24.0;

// Forward, backward and the other passes have the same colour and differ in their fill pattern.
QBrush fill_of(SegmentKind kind, const QPalette& palette) {
  QColor fill = colour(colour_of(kind), palette);
  switch (kind) {
    case SegmentKind::backward:
      return fill.darker(is_dark(palette) ? 125 : 118);
    case SegmentKind::optimizer:
      return fill.lighter(is_dark(palette) ? 118 : 145);
    case SegmentKind::own_copy:
      return fill.lighter(is_dark(palette) ? 135 : 175);
    default:
      return fill;
  }
}

void paint_moment(QPainter& painter, SegmentKind kind, const QRectF& rect, const QColor& fill) {
  QPainterPath mark;
  const double x = rect.center().x(), reach = 0.5 * rect.width();
  if (kind == SegmentKind::gradient) {  // a line with a point at the bottom
    mark.addRect(QRectF(x - 0.75, rect.top() + 3.0, 1.5, rect.height() - 6.0));
    mark.addEllipse(QPointF(x, rect.bottom() - 4.0), reach - 0.5, reach - 0.5);
  } else {  // a wedge at the top
    mark.moveTo(x - reach - 1.0, rect.top() + 1.0);
    mark.lineTo(x + reach + 1.0, rect.top() + 1.0);
    mark.lineTo(x, rect.top() + 0.55 * rect.height());
    mark.closeSubpath();
  }
  painter.fillPath(mark, fill);
}

void paint_kind(QPainter& painter, SegmentKind kind, const QRectF& rect, const QPalette& palette) {
  if (is_moment(kind)) {
    paint_moment(painter, kind, QRectF(rect.center().x() - 2.5, rect.top(), 5.0, rect.height()),
                 colour(colour_of(kind), palette));
    return;
  }
  painter.fillRect(rect, fill_of(kind, palette));
  if (kind == SegmentKind::skew || kind == SegmentKind::not_modelled || kind == SegmentKind::overlapped) {
    QColor lines = readable_on(fill_of(kind, palette).color());
    lines.setAlpha(70);
    const Qt::BrushStyle style = kind == SegmentKind::skew         ? Qt::BDiagPattern
                                 : kind == SegmentKind::overlapped ? Qt::HorPattern
                                                                   : Qt::DiagCrossPattern;
    painter.fillRect(rect, QBrush(lines, style));
  }
}

void paint_axis(QPainter& painter, const LaneLayout& layout, const QPalette& palette) {
  QColor grid = palette.color(QPalette::Text);
  grid.setAlpha(36);
  const double below = layout.plot.bottom();
  const QFontMetricsF metrics(painter.font());
  for (const Tick& tick : layout.ticks) {
    painter.setPen(QPen(grid, 1.0));
    painter.drawLine(QPointF(tick.x, layout.plot.top()), QPointF(tick.x, below));
    painter.setPen(palette.color(QPalette::Text));
    painter.drawLine(QPointF(tick.x, below), QPointF(tick.x, below + 4.0));
    const double width = metrics.horizontalAdvance(tick.text);
    const double x = std::clamp(tick.x - 0.5 * width, layout.plot.left() - 4.0, layout.plot.right() - width + 8.0);
    painter.drawText(QPointF(x, below + 5.0 + metrics.ascent()), tick.text);
  }
  painter.drawLine(QPointF(layout.plot.left(), below), QPointF(layout.plot.right(), below));
  painter.drawText(QRectF(layout.plot.left(), below + 5.0 + metrics.height(), layout.plot.width(), metrics.height()),
                   Qt::AlignCenter, layout.axis);
}

}  // namespace

Colour colour_of(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::data:
      return Colour::input;
    case SegmentKind::forward:
    case SegmentKind::backward:
    case SegmentKind::optimizer:
    case SegmentKind::own_copy:
      return Colour::compute;
    case SegmentKind::overlapped:
      return Colour::overlapped;
    case SegmentKind::exposed:
      return Colour::exposed;
    case SegmentKind::skew:
      return Colour::skew;
    case SegmentKind::copies:
      return Colour::copies;
    case SegmentKind::other:
    case SegmentKind::not_modelled:
      return Colour::other;
    case SegmentKind::gradient:
      return Colour::measured;
    case SegmentKind::launch:
      return Colour::exposed;
  }
  return Colour::other;
}

void paint_lanes(QPainter& painter, const LanePicture& picture, const QPalette& palette) {
  const LaneLayout& layout = picture.layout;
  painter.setRenderHint(QPainter::Antialiasing, false);
  const QFontMetricsF metrics(painter.font());
  const QColor text = palette.color(QPalette::Text);
  painter.setPen(text);
  painter.save();
  QFont bold = painter.font();
  bold.setBold(true);
  painter.setFont(bold);
  painter.drawText(layout.title, Qt::AlignLeft | Qt::AlignVCenter,
                   QFontMetricsF(bold).elidedText(picture.title, Qt::ElideRight, layout.title.width()));
  painter.restore();
  for (std::size_t i = 0; i < layout.lanes.size(); ++i) {
    const PlacedLane& lane = layout.lanes[i];
    painter.fillRect(lane.row, palette.color(QPalette::AlternateBase));
    painter.setPen(text);
    painter.drawText(
        lane.label, Qt::AlignLeft | Qt::AlignVCenter,
        metrics.elidedText(QString::fromStdString(picture.lanes.lanes[i].name), Qt::ElideMiddle, lane.label.width()));
  }
  paint_axis(painter, layout, palette);
  painter.save();
  painter.setClipRect(layout.plot.adjusted(-4.0, 0.0, 4.0, 0.0));
  for (const PlacedSegment& placed : layout.segments) {
    const step::Segment& segment = picture.lanes.lanes[placed.lane].segments[placed.segment];
    // A gap separates neighbours if there is room for it.
    const QRectF rect =
        placed.rect.width() > 4.0 && !is_moment(segment.kind) ? placed.rect.adjusted(0.0, 0.0, -1.0, 0.0) : placed.rect;
    paint_kind(painter, segment.kind, rect, palette);
    if (is_moment(segment.kind) || rect.width() < least_text_width) continue;
    const QString name = QString::fromStdString(segment.name);
    const QString shown = metrics.elidedText(name, Qt::ElideRight, rect.width() - 6.0);
    if (shown.size() < 3 && shown != name) continue;
    painter.setPen(readable_on(fill_of(segment.kind, palette).color()));
    painter.drawText(rect.adjusted(3.0, 0.0, -3.0, 0.0), Qt::AlignLeft | Qt::AlignVCenter, shown);
  }
  if (picture.focused && *picture.focused < layout.segments.size()) {
    const QRectF rect = layout.segments[*picture.focused].rect;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(palette.color(QPalette::Base), 4.0));
    painter.drawRect(rect.adjusted(1.0, 1.0, -1.0, -1.0));
    painter.setPen(QPen(palette.color(QPalette::Text), 2.0));
    painter.drawRect(rect.adjusted(1.0, 1.0, -1.0, -1.0));
  }
  painter.restore();
  painter.setPen(text);
  for (const LegendEntry& entry : layout.legend) {
    paint_kind(painter, entry.kind, entry.swatch, palette);
    painter.setPen(text);
    const std::string_view words = to_string(entry.kind);
    painter.drawText(entry.text.adjusted(0.0, 0.0, 40.0, 0.0), Qt::AlignLeft | Qt::AlignVCenter,
                     QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size())));
  }
  if (!picture.lanes.note.empty())
    painter.drawText(layout.note.adjusted(0.0, 0.0, 0.0, 2.0), static_cast<int>(Qt::TextWordWrap),
                     QString::fromStdString(picture.lanes.note));
}

}  // namespace ddpprof::gui
