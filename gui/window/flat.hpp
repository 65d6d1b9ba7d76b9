// Shapes of flat controls: a panel and an arrow.
#pragma once

#include <QPainter>

#include "gui/plots/design.hpp"

namespace ddpprof::gui::flat {

inline void panel(QPainter& painter, const QRect& box, const QColor& fill, const QColor& border, double width = 1.0) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(border, width));
  painter.setBrush(fill);
  const double inset = width / 2.0;
  painter.drawRoundedRect(QRectF(box).adjusted(inset, inset, -inset, -inset), corner_px, corner_px);
  painter.restore();
}

// An arrow head in the middle of the box, 8 pixels wide.
inline void arrow(QPainter& painter, const QRect& box, bool down, const QColor& line) {
  const QPointF middle = QRectF(box).center();
  const double high = down ? 2.0 : -2.0;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(line, 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
  painter.drawPolyline(
      QPolygonF({middle + QPointF(-4.0, -high), middle + QPointF(0.0, high), middle + QPointF(4.0, -high)}));
  painter.restore();
}

}  // namespace ddpprof::gui::flat
