// Sizes of the window's design: the grid, the type scale, corners (docs/internals/gui-design.md). Colours: colours.hpp.
#pragma once

#include <QFont>

namespace ddpprof::gui {

inline constexpr int grid_px = 8;  // margins and spaces are multiples of it, or half of it
inline constexpr int corner_px = 4;
inline constexpr int body_px = 13, title_px = 20, figure_px = 28;  // text, titles of pages and parts, key figures

bool has_tabular_digits(const QFont&);  // true if all digits have the same width

// Returns `base` in the size of body text. If its digits differ in width, a family with digits of equal width replaces
// it, so that numbers in a column do not move when they change.
QFont body_font(QFont base);
QFont sized(QFont base, int pixels);

}  // namespace ddpprof::gui
