// Samples that stand out on the slow side, and how they lie in the series.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ddpprof::stats {

inline constexpr double outlier_sigmas = 5.0;

enum class Place {
  none,
  scattered,  // no pattern
  beginning,  // four of five in the first fifth
  end,        // four of five in the last fifth
  together,   // in runs of neighbours: three on average, or more
  periodic,   // at equal distances
};

struct Outliers {
  double limit = 0.0;                // median + `sigmas` * mad_sigma
  std::vector<std::size_t> indices;  // of samples above it, ascending
  Place place = Place::none;
  std::size_t period = 0;  // samples between two of them, where periodic
};

// Samples above median + `sigmas` * 1.4826 * MAD (Leys et al. 2013 for the rule; 5 where they use 2.5 to 3, since step
// times are skewed to begin with). A series of which more than half is one value has no spread to measure by, and no
// outliers. A place is named from 4 outliers on. Throws std::invalid_argument on no samples.
Outliers find_outliers(std::span<const double> samples, double sigmas = outlier_sigmas);

const char* to_string(Place);  // "scattered", "at the beginning", …

}  // namespace ddpprof::stats
