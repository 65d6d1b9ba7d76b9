// The ratio and the difference of two medians that were measured in repeats, with confidence intervals.
#pragma once

#include <span>
#include <vector>

#include "simulator/stats/interval.hpp"

namespace ddpprof::stats {

// The quantile of Student's t distribution; `degrees` of freedom >= 1, whole or not. Throws std::invalid_argument
// outside (0, 1) or below one degree.
double student_quantile(double probability, double degrees);

// median(numerator) / median(denominator), each the median of all its samples. A bootstrap draws repeats first and
// samples within each of them next, on both sides. On a logarithmic scale its deviations are widened: those of a side
// with n >= 2 repeats by sqrt(n / (n - 1)), and the whole by Student's over the normal quantile at Welch's and
// Satterthwaite's degrees of freedom, since so few repeats vary more from one drawing to the next than their bootstrap
// shows (Hesterberg 2015, expanded percentile). Where one side has two repeats of a spread that many of the other do
// not have, an interval of 95 % covers 92 to 93 %; else 94 to 98 % (normal logarithms).
// One repeat on a side shows nothing of how its repeats differ: that side's samples alone are drawn, and the interval
// is of that very run. achieved_confidence is the one asked for, less where a side has too few samples for it (1 -
// 2^(1-n)). Same input, same interval. Throws std::invalid_argument when a side has no samples or a sample is not
// positive.
Interval clustered_ratio_interval(std::span<const std::vector<double>> numerator,
                                  std::span<const std::vector<double>> denominator, double confidence);

// median(minuend) - median(subtrahend) in the same way, without logarithms: for samples of any sign, zeros included.
// Throws std::invalid_argument when a side has no samples.
Interval clustered_difference_interval(std::span<const std::vector<double>> minuend,
                                       std::span<const std::vector<double>> subtrahend, double confidence);

}  // namespace ddpprof::stats
