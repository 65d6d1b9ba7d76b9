#include "gui/widgets/stops.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace ddpprof::gui {
namespace {

constexpr int per_doubling = 8;
constexpr double most_even_stops = 200.0;

double rounded(double value) {
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 2.0);
  // Divides by the inverse of a fractional unit, because 168 / 100 is the double nearest to 1.68, but 168 * 0.01 may
  // not be.
  return unit < 1.0 ? std::round(value / unit) / std::round(1.0 / unit) : std::round(value / unit) * unit;
}

}  // namespace

ValueRange widened(ValueRange range, double value) {
  if (range.logarithmic && !(value > 0.0)) return range;
  range.low = std::min(range.low, value);
  range.high = std::max(range.high, value);
  return range;
}

std::vector<double> slider_stops(const ValueRange& range) {
  std::set<double> stops = {range.low, range.high};
  const auto add = [&](double value) {
    if (value > range.low && value < range.high) stops.insert(value);
  };
  if (range.logarithmic && range.low > 0.0) {
    const int first = static_cast<int>(std::floor(per_doubling * std::log2(range.low)));
    const int last = static_cast<int>(std::ceil(per_doubling * std::log2(range.high)));
    for (int i = first; i <= last; ++i) {
      const double value = std::exp2(static_cast<double>(i) / per_doubling);
      add(range.whole ? std::round(value) : rounded(value));
    }
  } else {
    const double width = range.high - range.low;
    const double step = range.whole ? std::max(1.0, std::ceil(width / most_even_stops)) : width / most_even_stops;
    for (double at = range.low; step > 0.0 && at < range.high; at += step) add(at);
  }
  return {stops.begin(), stops.end()};
}

std::size_t nearest_stop(const std::vector<double>& stops, double value, bool logarithmic) {
  const auto above = std::lower_bound(stops.begin(), stops.end(), value);
  if (above == stops.begin()) return 0;
  if (above == stops.end()) return stops.size() - 1;
  const double low = *(above - 1), high = *above;
  const bool nearer_low = logarithmic && low > 0.0 ? value / low < high / value : value - low < high - value;
  return static_cast<std::size_t>(above - stops.begin()) - (nearer_low ? 1 : 0);
}

}  // namespace ddpprof::gui
