// The frame of a drawn widget with keyboard focus, the same for plots, lanes and the timeline. Saved pictures do not
// have it.
#pragma once

#include <QPainter>
#include <QPalette>

namespace ddpprof::gui {

inline void draw_focus_frame(QPainter& painter, const QRectF& area, const QPalette& palette) {
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(palette.color(QPalette::Highlight), 2.0));
  painter.drawRect(area.adjusted(1.0, 1.0, -1.0, -1.0));
}

}  // namespace ddpprof::gui
