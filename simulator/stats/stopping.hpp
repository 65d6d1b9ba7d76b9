// When to stop measuring: once the interval of the median is narrow enough.
#pragma once

#include <cstddef>
#include <span>

namespace ddpprof::stats {

// Below 10 samples an interval of order statistics is the whole range or nearly so: two lucky neighbours would end a
// measurement. (Six are the fewest for which a 95 % interval exists at all.)
inline constexpr std::size_t minimum_samples = 10;

// True once the median's 95 % interval (median_interval) lies within ± `max_percent` % of the median and there are
// `minimum_samples`. Throws std::invalid_argument unless max_percent is positive.
bool enough(std::span<const double> samples, double max_percent);

}  // namespace ddpprof::stats
