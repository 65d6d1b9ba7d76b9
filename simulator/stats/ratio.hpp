// How much larger one thing is than another when both were measured in repeats, and how far to trust that.
#pragma once

#include <span>
#include <vector>

#include "simulator/stats/interval.hpp"

namespace ddpprof::stats {

// The quantile of Student's t distribution; `degrees` of freedom >= 1. Throws std::invalid_argument outside (0, 1) or
// below one degree.
double student_quantile(double probability, int degrees);

// median(numerator) / median(denominator), each the median of all its samples. A bootstrap draws repeats first and
// samples within each of them next, on both sides; with two repeats or more on both sides its interval is widened
// about the ratio, on a logarithmic scale, by sqrt(n / (n - 1)) and by Student's over the normal quantile: so few
// repeats vary more from one drawing to the next than their bootstrap shows (Hesterberg 2015, expanded percentile).
// One repeat on a side shows nothing of how its repeats differ: that side's samples alone are drawn, and the interval
// is of these very runs. achieved_confidence is the one asked for, less where a side has too few samples for it (1 -
// 2^(1-n)). Same input, same interval. Throws std::invalid_argument when a side has no samples or a sample is not
// positive.
Interval clustered_ratio_interval(std::span<const std::vector<double>> numerator,
                                  std::span<const std::vector<double>> denominator, double confidence);

}  // namespace ddpprof::stats
