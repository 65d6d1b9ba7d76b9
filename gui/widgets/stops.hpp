// The values at which a slider stops, evenly or logarithmically spaced. With a list of stops each press of an arrow key
// changes the value.
#pragma once

#include <cstddef>
#include <vector>

namespace ddpprof::gui {

struct ValueRange {
  double low = 0.0, high = 1.0;
  bool logarithmic = false;
  bool whole = false;  // whole numbers only
};

// Returns the range extended to contain `value`. A logarithmic range does not reach 0.
ValueRange widened(ValueRange, double value);

// Returns the stops, ascending, without duplicates, including low and high; at most about 200. A logarithmic range has
// eight stops per factor of two, rounded to three significant digits.
std::vector<double> slider_stops(const ValueRange&);

// Returns the stop nearest to the value, on the range's scale.
std::size_t nearest_stop(const std::vector<double>& stops, double value, bool logarithmic);

}  // namespace ddpprof::gui
