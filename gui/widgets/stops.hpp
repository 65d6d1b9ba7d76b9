// The values a slider stops at: evenly spaced or in the logarithm, as a list, so that each press of an arrow key moves
// the value.
#pragma once

#include <cstddef>
#include <vector>

namespace ddpprof::gui {

struct ValueRange {
  double low = 0.0, high = 1.0;
  bool logarithmic = false;
  bool whole = false;  // whole numbers only
};

// The range with `value` in it; one in the logarithm does not reach 0.
ValueRange widened(ValueRange, double value);

// Ascending, without doubles, low and high among them; at most about 200. In the logarithm eight a doubling, rounded to
// three significant digits.
std::vector<double> slider_stops(const ValueRange&);

// The stop nearest to a value, in the scale of the range.
std::size_t nearest_stop(const std::vector<double>& stops, double value, bool logarithmic);

}  // namespace ddpprof::gui
