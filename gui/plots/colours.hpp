// The window's colours: told apart by colour-blind people, in a light and a dark palette.
//
// Categories follow Okabe and Ito, "Color Universal Design" (2008), lightened for dark backgrounds; a colour never
// carries a meaning alone: every plot has a legend, every lane a label.
#pragma once

#include <QColor>
#include <QPalette>

namespace ddpprof::gui {

enum class Colour {
  compute,     // forward, backward, optimizer
  overlapped,  // communication hidden behind compute
  exposed,     // communication that is not
  skew,        // waiting for slower ranks
  input,       // waiting for data
  other,       // gaps
  copies,      // DataParallel's
  measured,    // points
  predicted,   // the fitted curve and its band
  what_if,     // the changed one
  ideal,       // linear scaling
  knee,        // where communication takes over
  warning,
  error,
};

bool is_dark(const QPalette&);
QColor colour(Colour, const QPalette&);

QColor readable_on(const QColor& fill);  // for text: black or white, at 4.5:1 or more on any fill

// WCAG 2.1's contrast ratio, 1 to 21: text needs 4.5, what is no text 3.
inline constexpr double text_contrast_least = 4.5, shape_contrast_least = 3.0;
double contrast_ratio(const QColor&, const QColor&);
// What stands out from window, base and button by shape_contrast_least: the edge of a box that is ticked or not, and
// of a button that is pressed.
QColor edge_colour(const QPalette&);
QColor pressed_colour(const QPalette&);

// The whole program's palette where the user asks for one; the desktop's own otherwise.
QPalette light_palette();
QPalette dark_palette();

}  // namespace ddpprof::gui
