// A figure as inline SVG: a frame with two axes, and marks in the page's colours.
//
// Colours are classes of the page's style sheet: `c0` to `c6` for series, `part-…` for parts of a step. So a figure
// follows the light or dark theme and uses nothing outside the page.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/report/html/axis.hpp"

namespace ddpprof::report::html {

inline constexpr int series_colours = 7;

struct Point {
  double x = 0, y = 0;  // in units of the axes
};

// A line of the legend: the mark and its meaning.
struct LegendItem {
  enum class Mark { measured, predicted, fitted, block, pale_block } mark = Mark::measured;
  std::string classes;  // "c0", "part-compute"
  std::string text;
};

struct Figure {
  std::string title;
  std::string svg;
  std::vector<LegendItem> legend;
  std::string caption;  // the rule of the figure, if the table's note does not contain it
};

class Drawing {
 public:
  struct Size {
    double width = 560, height = 320;
    double left = 76, right = 20, top = 16, bottom = 48;
  };
  static constexpr double line_height = 15;

  // `id`: unique on the page, with the characters of an identifier. `description`: text for readers who cannot see the
  // figure.
  Drawing(std::string id, std::string title, std::string description, Size size);

  // Draws the grid, the ticks and the titles of the axes. `categories`: replace the x axis by places of equal width
  // from left to right, numbered from 0; the middle of the first is at x = 0.
  void frame(Axis x, Axis y);
  void frame(const std::vector<std::string>& categories, const std::string& title, Axis y);

  void line(std::span<const Point>, const std::string& classes);
  void band(std::span<const Point> low, std::span<const Point> high, const std::string& classes);
  void dot(Point, const std::string& classes, const std::string& tip);
  void whisker(double x, double low, double high, const std::string& classes);
  // A bar of a category from `low` to `high`, centred at `x`.
  void bar(double x, double low, double high, const std::string& classes, const std::string& tip);
  // A vertical line at x over the whole plot. Its label is in line `row` above the plot.
  void marker(double x, int row, const std::string& label, const std::string& classes);
  void label(Point at, double dx, double dy, const std::string& text, const std::string& classes);
  // Labels to the right of the plot. Overlapping labels are moved apart.
  struct EndLabel {
    Point at;
    std::string text, classes;
  };
  void end_labels(std::vector<EndLabel> labels);

  std::string svg() const;

 private:
  double px(double x) const;
  double py(double y) const;
  void text(double x, double y, const std::string& anchor, const std::string& classes, const std::string& words);
  void draw_y();

  std::string id_, title_, description_, body_, over_;  // over_: drawn last
  Size size_;
  Axis x_, y_;
  std::size_t categories_ = 0;
};

std::string swatch(const LegendItem&);  // the mark without text, as inline SVG

}  // namespace ddpprof::report::html
