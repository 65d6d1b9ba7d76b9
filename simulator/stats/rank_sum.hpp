// Whether one sample tends to be larger than another: Wilcoxon's rank-sum test, also Mann and Whitney's U.
#pragma once

#include <span>

namespace ddpprof::stats {

// One-sided p-value of "a value of `first` is no larger than one of `second`": small when the first are larger. Normal
// approximation with ties and continuity correction (Mann and Whitney 1947; Lehmann 1975, good from 5 values each).
// 1 when either is empty or all values are equal.
double rank_sum(std::span<const double> first, std::span<const double> second);

}  // namespace ddpprof::stats
