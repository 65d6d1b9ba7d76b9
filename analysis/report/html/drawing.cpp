#include "analysis/report/html/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/core/display.hpp"
#include "analysis/report/html/escape.hpp"

namespace ddpprof::report::html {
namespace {

// Tenths of a pixel, without "-0.0".
std::string coordinate(double value) {
  std::string text = fmt::format("{:.1f}", value);
  return text == "-0.0" ? "0.0" : text;
}

std::string titled(const std::string& tip) { return tip.empty() ? "" : "<title>" + escaped(tip) + "</title>"; }

constexpr double category_label_width = 6.5;         // pixels per character
constexpr double bold_character_width = 7.2;         // pixels per character
constexpr double bar_share = 0.72, widest_bar = 64;  // share of a category's width; pixels

}  // namespace

Drawing::Drawing(std::string id, std::string title, std::string description, Size size)
    : id_(std::move(id)), title_(std::move(title)), description_(std::move(description)), size_(size) {}

double Drawing::px(double x) const {
  const double width = size_.width - size_.left - size_.right;
  if (categories_ > 0) return size_.left + width * (x + 0.5) / static_cast<double>(categories_);
  return size_.left + width * x_.at(x);
}

double Drawing::py(double y) const {
  return size_.height - size_.bottom - (size_.height - size_.bottom - size_.top) * y_.at(y);
}

void Drawing::text(double x, double y, const std::string& anchor, const std::string& classes,
                   const std::string& words) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", coordinate(x), coordinate(y), anchor,
                       classes.empty() ? "" : " class=\"" + classes + "\"", escaped(words));
}

void Drawing::draw_y() {
  for (const Tick& tick : y_.ticks) {
    const double y = py(tick.value);
    body_ += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", coordinate(size_.left),
                         coordinate(size_.width - size_.right), coordinate(y), coordinate(y));
    text(size_.left - 7, y + 4, "end", "", tick.label);
  }
  const double middle = (size_.top + size_.height - size_.bottom) / 2;
  body_ +=
      fmt::format("<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(14,{}) rotate(-90)\">{}</text>\n",
                  coordinate(middle), escaped(y_.title));
}

void Drawing::frame(Axis x, Axis y) {
  x_ = std::move(x);
  y_ = std::move(y);
  categories_ = 0;
  draw_y();
  const double bottom = size_.height - size_.bottom;
  for (const Tick& tick : x_.ticks) {
    const double at = px(tick.value);
    body_ += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", coordinate(at),
                         coordinate(at), coordinate(size_.top), coordinate(bottom + 4));
    text(at, bottom + 18, "middle", "", tick.label);
  }
  text((size_.left + size_.width - size_.right) / 2, size_.height - 8, "middle", "axis", x_.title);
}

void Drawing::frame(const std::vector<std::string>& categories, const std::string& title, Axis y) {
  y_ = std::move(y);
  categories_ = std::max<std::size_t>(categories.size(), 1);
  draw_y();
  std::size_t longest = 1;
  for (const std::string& name : categories) longest = std::max(longest, display_width(name));
  const double place = (size_.width - size_.left - size_.right) / static_cast<double>(categories_);
  const double needed = category_label_width * static_cast<double>(longest) + 4;
  const auto every = std::max<std::size_t>(1, static_cast<std::size_t>(needed / place + 0.999));
  for (std::size_t i = 0; i < categories.size(); i += every)
    text(px(static_cast<double>(i)), size_.height - size_.bottom + 18, "middle", "", categories[i]);
  text((size_.left + size_.width - size_.right) / 2, size_.height - 8, "middle", "axis", title);
}

void Drawing::line(std::span<const Point> points, const std::string& classes) {
  if (points.size() < 2) return;
  std::string path;
  for (const Point& p : points) path += (path.empty() ? "" : " ") + coordinate(px(p.x)) + "," + coordinate(py(p.y));
  body_ += fmt::format("<polyline class=\"line {}\" points=\"{}\"/>\n", classes, path);
}

void Drawing::band(std::span<const Point> low, std::span<const Point> high, const std::string& classes) {
  if (low.size() < 2) return;
  std::string path;
  const auto add = [&](const Point& p) {
    path += (path.empty() ? "" : " ") + coordinate(px(p.x)) + "," + coordinate(py(p.y));
  };
  for (const Point& p : high) add(p);
  for (auto p = low.rbegin(); p != low.rend(); ++p) add(*p);
  body_ += fmt::format("<polygon class=\"band {}\" points=\"{}\"/>\n", classes, path);
}

void Drawing::dot(Point at, const std::string& classes, const std::string& tip) {
  body_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"4\">{}</circle>\n", classes, coordinate(px(at.x)),
                       coordinate(py(at.y)), titled(tip));
}

void Drawing::whisker(double x, double low, double high, const std::string& classes) {
  const double at = px(x), top = py(high), bottom = py(low);
  body_ += fmt::format("<path class=\"line {}\" d=\"M{} {}V{}\"/>\n", classes, coordinate(at), coordinate(bottom),
                       coordinate(top));
}

void Drawing::bar(double x, double low, double high, const std::string& classes, const std::string& tip) {
  const double place = (size_.width - size_.left - size_.right) / static_cast<double>(categories_);
  const double width = std::min(bar_share * place, widest_bar), top = py(high), bottom = py(low);
  if (!(bottom > top)) return;
  body_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</rect>\n", classes,
                       coordinate(px(x) - width / 2), coordinate(top), coordinate(width), coordinate(bottom - top),
                       titled(tip));
}

void Drawing::marker(double x, int row, const std::string& words, const std::string& classes) {
  const double at = px(x), y = 11 + line_height * row;
  body_ += fmt::format("<path class=\"line marker {}\" d=\"M{} {}V{}\"/>\n", classes, coordinate(at), coordinate(y - 9),
                       coordinate(size_.height - size_.bottom));
  const double needed = bold_character_width * static_cast<double>(display_width(words));
  // Lines of other markers may pass here, so labels are drawn last, on a background of the paper's colour.
  body_.swap(over_);
  text(std::max(2.0, std::min(at + 5, size_.width - needed)), y, "start", "name " + classes, words);
  body_.swap(over_);
}

void Drawing::label(Point at, double dx, double dy, const std::string& words, const std::string& classes) {
  text(px(at.x) + dx, py(at.y) + dy, "middle", classes, words);
}

void Drawing::end_labels(std::vector<EndLabel> labels) {
  std::stable_sort(labels.begin(), labels.end(),
                   [&](const EndLabel& a, const EndLabel& b) { return py(a.at.y) < py(b.at.y); });
  std::vector<double> heights;
  for (const EndLabel& label : labels)
    heights.push_back(std::max(py(label.at.y) + 4, heights.empty() ? 0.0 : heights.back() + line_height - 1));
  // Labels that were moved below the plot move the others up.
  double lowest = size_.height - size_.bottom + 4;
  for (auto height = heights.rbegin(); height != heights.rend(); ++height) {
    *height = std::min(*height, lowest);
    lowest = *height - line_height + 1;
  }
  for (std::size_t i = 0; i < labels.size(); ++i)
    text(px(labels[i].at.x) + 9, heights[i], "start", "name " + labels[i].classes, labels[i].text);
}

std::string Drawing::svg() const {
  return fmt::format(
      "<svg viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" aria-labelledby=\"{2}-title {2}-desc\">\n"
      "<title id=\"{2}-title\">{3}</title>\n<desc id=\"{2}-desc\">{4}</desc>\n{5}</svg>\n",
      size_.width, size_.height, id_, escaped(title_), escaped(description_), body_ + over_);
}

std::string swatch(const LegendItem& item) {
  std::string mark;
  switch (item.mark) {
    case LegendItem::Mark::measured:
      mark =
          fmt::format("<path class=\"line {0}\" d=\"M14 1V13\"/><circle class=\"dot {0}\" cx=\"14\" cy=\"7\" r=\"4\"/>",
                      item.classes);
      break;
    case LegendItem::Mark::predicted:
      mark = fmt::format(
          "<path class=\"band {0}\" d=\"M0 1H28V13H0Z\"/><path class=\"line dashed {0}\" d=\"M0 7H28\"/>"
          "<circle class=\"open {0}\" cx=\"14\" cy=\"7\" r=\"4\"/>",
          item.classes);
      break;
    case LegendItem::Mark::fitted:
      mark = fmt::format("<path class=\"line {0}\" d=\"M0 7H28\"/>", item.classes);
      break;
    case LegendItem::Mark::block:
    case LegendItem::Mark::pale_block:
      mark = fmt::format("<rect class=\"{}\" x=\"8\" y=\"1\" width=\"12\" height=\"12\"/>", item.classes);
      break;
  }
  return "<svg class=\"key\" viewBox=\"0 0 28 14\" aria-hidden=\"true\">" + mark + "</svg>";
}

}  // namespace ddpprof::report::html
