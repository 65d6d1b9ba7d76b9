// Confidence intervals of medians that assume no distribution. Their stopping rule is in stopping.hpp.
#pragma once

#include <span>
#include <vector>

namespace ddpprof::stats {

struct Interval {
  double low = 0.0;
  double mid = 0.0;
  double high = 0.0;
  double achieved_confidence = 0.0;  // actual coverage; below the requested one if there are few samples

  // Half the width over |mid|; infinity when mid is 0 and the interval is not a point.
  double relative_half_width() const;
};

// The median with an interval of order statistics: [x(k+1), x(n-k)] covers the median with probability
// 1 - 2 P(Binomial(n, 1/2) <= k), whatever continuous distribution the samples come from; the largest k that keeps
// `confidence` is taken. With too few samples (fewer than 6 for 95 %) it is the whole range, and achieved_confidence
// says what that covers: 1 - 2^(1-n). Throws std::invalid_argument on no samples or a confidence outside (0, 1).
Interval median_interval(std::span<const double> samples, double confidence);

// The median of samples that were taken in repeats (whole runs of the same thing). Two samples of one repeat share what
// was peculiar to that run, so the spread between repeats stays however many samples each of them holds: a bootstrap
// that draws repeats first and samples within each of them next. mid is the median of all samples. One repeat (empty
// ones do not count) gives median_interval: of how repeats differ it shows nothing. achieved_confidence is the one
// asked for, unless two repeats differ by more than their own intervals: then at most 1 - 2^(1-repeats), which is how
// often the range of so few covers the median of all that could be run. The interval is then the same for every
// confidence from there to 0.95. Same input, same interval. Throws as median_interval does.
Interval clustered_median_interval(std::span<const std::vector<double>> repeats, double confidence);

}  // namespace ddpprof::stats
