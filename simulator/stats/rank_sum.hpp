// Whether one sample tends to be larger than another: Wilcoxon's rank-sum test, also Mann and Whitney's U.
#pragma once

#include <span>

namespace ddpprof::stats {

// One-sided p-value of "values of `first` are not larger than values of `second`": small if the values of `first` are
// larger. Normal approximation with ties and continuity correction (Mann and Whitney 1947; Lehmann 1975, good from 5
// values each). 1 if either is empty or all values are equal.
double rank_sum(std::span<const double> first, std::span<const double> second);

}  // namespace ddpprof::stats
