// Icons of the pages: line drawings of 24 × 24 units, as SVG, drawn in a given colour.
#pragma once

#include <QColor>
#include <QPixmap>
#include <QString>

namespace ddpprof::gui {

// Returns the SVG of a page by its title without &, in `line`'s colour. A page without an icon gets a circle.
QByteArray page_svg(const QString& page, const QColor& line);
bool has_icon(const QString& page);

QPixmap page_icon(const QString& page, const QColor& line, int pixels, double device_pixel_ratio);

}  // namespace ddpprof::gui
