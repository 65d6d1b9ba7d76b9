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

QColor mixed(const QColor& from, const QColor& to, double share) {
  const auto part = [share](float a, float b) { return static_cast<float>(a + share * (b - a)); };
  return QColor::fromRgbF(part(from.redF(), to.redF()), part(from.greenF(), to.greenF()),
                          part(from.blueF(), to.blueF()));
}

// Returns the first colour on the way from `colour` to the text colour that has the required contrast to every
// background of a control.
QColor standing_out(const QColor& colour, const QPalette& palette) {
  constexpr double margin = 1.15;  // antialiasing lowers the contrast of a line
  const QColor text = palette.color(QPalette::Active, QPalette::WindowText);
  for (double share = 0.0; share < 1.0; share += 0.05) {
    const QColor tried = mixed(colour, text, share);
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

QColor edge_colour(const QPalette& palette) {
  return standing_out(palette.color(QPalette::Active, QPalette::Window), palette);
}

QColor pressed_colour(const QPalette& palette) {
  return standing_out(palette.color(QPalette::Active, QPalette::Link), palette);
}

QPalette light_palette() {
  QPalette palette(QColor(0xf4, 0xf4, 0xf4), QColor(0xf4, 0xf4, 0xf4));
  palette.setColor(QPalette::Base, Qt::white);
  palette.setColor(QPalette::AlternateBase, QColor(0xf0, 0xf3, 0xf6));
  palette.setColor(QPalette::Highlight, QColor(0x00, 0x5f, 0x99));
  palette.setColor(QPalette::HighlightedText, Qt::white);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText})
    palette.setColor(role, QColor(0x1a, 0x1a, 0x1a));
  palette.setColor(QPalette::ToolTipBase, QColor(0xff, 0xff, 0xe8));
  palette.setColor(QPalette::PlaceholderText, QColor(0x6a, 0x6a, 0x6a));
  palette.setColor(QPalette::Link, QColor(0x00, 0x5f, 0x99));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, QColor(0x8a, 0x8a, 0x8a));
  return palette;
}

QPalette dark_palette() {
  QPalette palette(QColor(0x2b, 0x2d, 0x31), QColor(0x2b, 0x2d, 0x31));
  palette.setColor(QPalette::Base, QColor(0x1e, 0x1f, 0x22));
  palette.setColor(QPalette::AlternateBase, QColor(0x26, 0x28, 0x2c));
  palette.setColor(QPalette::Button, QColor(0x38, 0x3a, 0x40));
  palette.setColor(QPalette::Highlight, QColor(0x2a, 0x76, 0xb3));
  palette.setColor(QPalette::HighlightedText, Qt::white);
  for (const auto role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText, QPalette::BrightText})
    palette.setColor(role, QColor(0xe8, 0xe8, 0xe8));
  palette.setColor(QPalette::ToolTipBase, QColor(0x3a, 0x3c, 0x42));
  palette.setColor(QPalette::PlaceholderText, QColor(0x9a, 0x9a, 0x9a));
  palette.setColor(QPalette::Link, QColor(0x7a, 0xbf, 0xf0));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, QColor(0x80, 0x80, 0x80));
  return palette;
}

}  // namespace ddpprof::gui
