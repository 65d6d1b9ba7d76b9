// The window's colours in a light and a dark palette. Colour-blind users can tell them apart.
//
// Categories follow Okabe and Ito, "Color Universal Design" (2008), lightened for dark backgrounds. A colour is never
// the only sign: every plot has a legend, every lane a label.
#pragma once

#include <QColor>
#include <QPalette>

namespace ddpprof::gui {

enum class Colour {
  compute,     // forward, backward, optimizer
  overlapped,  // communication hidden by compute
  exposed,     // communication not hidden by compute
  skew,        // waiting for slower ranks
  input,       // waiting for data
  other,       // gaps
  copies,      // copies of DataParallel
  host,        // the device waits for the host's launches
  measured,    // points
  predicted,   // the fitted curve and its band
  what_if,     // the changed prediction
  ideal,       // linear scaling
  knee,        // the shares of communication that define knees
  warning,
  error,
};

bool is_dark(const QPalette&);
QColor colour(Colour, const QPalette&);

QColor readable_on(const QColor& fill);  // text colour on the fill: black or white, contrast at least 4.5:1 on any fill

// Contrast ratio as WCAG 2.1 defines it, from 1 to 21. Text needs 4.5, other shapes need 3.
inline constexpr double text_contrast_least = 4.5, shape_contrast_least = 3.0;
double contrast_ratio(const QColor&, const QColor&);
// Colours with a contrast of at least shape_contrast_least to window, base and button: for the edge of a check box, and
// for the edge of a pressed button.
QColor edge_colour(const QPalette&);
QColor pressed_colour(const QPalette&);

QColor blended(const QColor& from, const QColor& to, double share);  // share 0: `from`, 1: `to`

// Grounds and lines of flat controls. Text in WindowText is readable on all grounds.
QColor border_colour(const QPalette&);    // of buttons, fields, tables and cards; decoration only
QColor hover_colour(const QPalette&);     // ground of a button below the mouse
QColor selected_colour(const QPalette&);  // ground of the chosen page or segment
QColor selected_text(const QPalette&);    // text and icon on it

// Ground of a table's cell whose value is better (to 1) or worse (to -1) than the reference. Text is readable on it.
QColor tinted_colour(double better, const QPalette&);

// The two palettes of the program. Without a choice of the user, the desktop's lightness selects one.
QPalette light_palette();
QPalette dark_palette();

}  // namespace ddpprof::gui
