#include "gui/plots/colours.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace ddpprof::gui {
namespace {

struct Pair {
  QRgb light, dark;
};

constexpr std::array<Pair, 15> pairs = {{
    {0xff0072b2, 0xff56a3e0},  // compute: blue
    {0xff56b4e9, 0xff9ad6f7},  // overlapped: sky blue
    {0xffd55e00, 0xfff08a3c},  // exposed: vermilion
    {0xffcc79a7, 0xffe6a3c8},  // skew: reddish purple
    {0xff009e73, 0xff3fc79c},  // input: bluish green
    {0xff8c8c8c, 0xffa0a0a0},  // other: grey
    {0xffe69f00, 0xfff5bf4f},  // copies: orange
    {0xff7f4f24, 0xffc49a6c},  // host: brown
    {0xff1a1a1a, 0xfff0f0f0},  // measured
    {0xff0072b2, 0xff56a3e0},  // predicted
    {0xffd55e00, 0xfff08a3c},  // what_if
    {0xff8c8c8c, 0xff9a9a9a},  // ideal
    {0xffcc79a7, 0xffe6a3c8},  // knee
    {0xffa85400, 0xfff5bf4f},  // warning
    {0xffb00020, 0xffff8a80},  // error
}};

}  // namespace

bool is_dark(const QPalette& palette) { return palette.color(QPalette::Window).lightness() < 128; }

QColor colour(Colour which, const QPalette& palette) {
  const Pair& pair = pairs[static_cast<std::size_t>(which)];
  return QColor::fromRgb(is_dark(palette) ? pair.dark : pair.light);
}

QColor readable_on(const QColor& fill) {
  const QColor black(Qt::black), white(Qt::white);
  return contrast_ratio(black, fill) > contrast_ratio(white, fill) ? black : white;
}

namespace {

// Relative luminance, as WCAG 2.1 defines it.
double luminance(const QColor& colour) {
  const auto linear = [](double part) {
    return part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

// Returns the first colour on the way from `colour` to the text colour that has the required contrast to every
// background of a control.
QColor standing_out(const QColor& colour, const QPalette& palette) {
  constexpr double margin = 1.15;  // antialiasing lowers the contrast of a line
  const QColor text = palette.color(QPalette::Active, QPalette::WindowText);
  for (double share = 0.0; share < 1.0; share += 0.05) {
    const QColor tried = blended(colour, text, share);
    bool enough = true;
    for (const auto role : {QPalette::Window, QPalette::Base, QPalette::Button})
      enough = enough && contrast_ratio(tried, palette.color(QPalette::Active, role)) >= margin * shape_contrast_least;
    if (enough) return tried;
  }
  return text;
}

}  // namespace

double contrast_ratio(const QColor& a, const QColor& b) {
  const double of_a = luminance(a), of_b = luminance(b);
  return (std::max(of_a, of_b) + 0.05) / (std::min(of_a, of_b) + 0.05);
}

QColor blended(const QColor& from, const QColor& to, double share) {
  const auto part = [share](float a, float b) { return static_cast<float>(a + share * (b - a)); };
  return QColor::fromRgbF(part(from.redF(), to.redF()), part(from.greenF(), to.greenF()),
                          part(from.blueF(), to.blueF()));
}

QColor edge_colour(const QPalette& palette) {
  return standing_out(palette.color(QPalette::Active, QPalette::Window), palette);
}

QColor pressed_colour(const QPalette& palette) {
  return standing_out(palette.color(QPalette::Active, QPalette::Link), palette);
}

namespace {

QColor role(const QPalette& palette, QPalette::ColorRole which) { return palette.color(QPalette::Active, which); }

}  // namespace

QColor border_colour(const QPalette& palette) {
  return blended(role(palette, QPalette::Window), role(palette, QPalette::WindowText), 0.18);
}

QColor hover_colour(const QPalette& palette) {
  return blended(role(palette, QPalette::Button), role(palette, QPalette::ButtonText), 0.07);
}

QColor selected_colour(const QPalette& palette) {
  return blended(role(palette, QPalette::Window), role(palette, QPalette::Highlight), is_dark(palette) ? 0.32 : 0.12);
}

QColor selected_text(const QPalette& palette) {
  return is_dark(palette) ? role(palette, QPalette::WindowText) : role(palette, QPalette::Link);
}

QColor tinted_colour(double better, const QPalette& palette) {
  const QColor towards = colour(better >= 0.0 ? Colour::input : Colour::exposed, palette);
  constexpr double least = 0.10, most = 0.30;  // a small difference must be visible, a large one readable
  const double share = better == 0.0 ? 0.0 : least + (most - least) * std::min(1.0, std::abs(better));
  return blended(role(palette, QPalette::Base), towards, share);
}

namespace {

QPalette with_text(QPalette palette, const QColor& text, const QColor& faint, const QColor& disabled) {
  for (const auto part : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText})
    palette.setColor(part, text);
  palette.setColor(QPalette::PlaceholderText, faint);
  for (const auto part : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, part, disabled);
  palette.setColor(QPalette::Mid, border_colour(palette));
  return palette;
}

}  // namespace

QPalette light_palette() {
  QPalette palette(QColor(0xf6, 0xf7, 0xf9), QColor(0xf6, 0xf7, 0xf9));
  palette.setColor(QPalette::Base, Qt::white);
  palette.setColor(QPalette::AlternateBase, QColor(0xf5, 0xf7, 0xfa));
  palette.setColor(QPalette::Button, Qt::white);
  palette.setColor(QPalette::Highlight, QColor(0x0b, 0x62, 0xa3));
  palette.setColor(QPalette::HighlightedText, Qt::white);
  palette.setColor(QPalette::Link, QColor(0x0b, 0x5a, 0x98));
  palette.setColor(QPalette::ToolTipBase, Qt::white);
  return with_text(palette, QColor(0x1b, 0x1f, 0x24), QColor(0x64, 0x6c, 0x76), QColor(0x8a, 0x90, 0x98));
}

QPalette dark_palette() {
  QPalette palette(QColor(0x1f, 0x22, 0x27), QColor(0x1f, 0x22, 0x27));
  palette.setColor(QPalette::Base, QColor(0x17, 0x19, 0x1d));
  palette.setColor(QPalette::AlternateBase, QColor(0x1c, 0x1f, 0x24));
  palette.setColor(QPalette::Button, QColor(0x2a, 0x2e, 0x35));
  palette.setColor(QPalette::Highlight, QColor(0x2c, 0x72, 0xb2));
  palette.setColor(QPalette::HighlightedText, Qt::white);
  palette.setColor(QPalette::Link, QColor(0x7a, 0xbf, 0xf0));
  palette.setColor(QPalette::ToolTipBase, QColor(0x2a, 0x2e, 0x35));
  palette.setColor(QPalette::BrightText, Qt::white);
  return with_text(palette, QColor(0xe6, 0xe8, 0xeb), QColor(0x9a, 0xa1, 0xab), QColor(0x7a, 0x80, 0x88));
}

}  // namespace ddpprof::gui
