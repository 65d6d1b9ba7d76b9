// How far a median can be trusted: intervals that assume no distribution, and their stopping rule (stopping.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace ddpprof::stats {

struct Interval {
  double low = 0.0;
  double mid = 0.0;
  double high = 0.0;
  double achieved_confidence = 0.0;  // coverage the interval really has; below the one asked for when samples are few

  // Half the width over |mid|; infinity when mid is 0 and the interval is not a point.
  double relative_half_width() const;
};

// The median with an interval of order statistics: [x(k+1), x(n-k)] covers the median with probability
// 1 - 2 P(Binomial(n, 1/2) <= k), whatever continuous distribution the samples come from; the largest k that keeps
// `confidence` is taken. With too few samples (fewer than 6 for 95 %) it is the whole range, and achieved_confidence
// says what that covers: 1 - 2^(1-n). Throws std::invalid_argument on no samples or a confidence outside (0, 1).
Interval median_interval(std::span<const double> samples, double confidence);

// The median of numerator[i] / denominator[i] over pairs measured together, with the interval above.
// Throws when the sizes differ or a denominator is not positive.
Interval paired_ratio_interval(std::span<const double> numerator, std::span<const double> denominator,
                               double confidence);

// Percentile bootstrap of any statistic: `resamples` draws with replacement from a generator seeded with `seed`, so
// the same input always gives the same interval. mid is the statistic of the samples themselves.
Interval bootstrap_interval(std::span<const double> samples,
                            const std::function<double(std::span<const double>)>& statistic, double confidence,
                            int resamples, std::uint64_t seed);

}  // namespace ddpprof::stats
