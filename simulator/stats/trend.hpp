// Whether a series drifts: the Theil-Sen slope and the Mann-Kendall test, and both over blocks of neighbours.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace ddpprof::stats {

struct Trend {
  double slope = 0.0;  // per sample: the median of all pairs' slopes (Sen 1968)
  double low = 0.0;    // the slope's 95 % interval from order statistics of the pairs' slopes (Sen 1968, Gilbert 1987)
  double high = 0.0;
  double score = 0.0;     // S: pairs that rise less pairs that fall
  double variance = 0.0;  // of S where nothing drifts: [n(n-1)(2n+5) - sum over ties of t(t-1)(2t+5)] / 18
  double p_value = 1.0;   // two-sided, normal approximation with continuity correction (Kendall 1975; good from n = 8)
};

// Mann (1945) and Kendall (1975) on samples that are independent of each other. n(n-1)/2 pairs: for up to a few
// thousand samples. Throws std::invalid_argument for fewer than 3.
Trend mann_kendall(std::span<const double> samples);

struct Drift {
  double slope = 0.0;             // per sample
  double change = 0.0;            // over the whole series: slope times (n - 1)
  std::optional<double> p_value;  // unset: fewer than `minimum_blocks` independent blocks, which cannot tell
  std::size_t block = 1;          // neighbours that were taken together
  std::size_t blocks = 0;
};
inline constexpr std::size_t minimum_blocks = 8;

// The trend of a series whose neighbours depend on each other, which Mann-Kendall alone would take for a drift. The
// series is cut into equal blocks, the test runs over the blocks' medians. A block holds twice the autocorrelation time
// that is left once the slope is taken out (a drift by itself would look like dependence: Yue et al. 2002), and there
// are at most 500. What does not fill a last block is left out at the front. Throws for fewer than 3 samples.
Drift drift(std::span<const double> samples);

}  // namespace ddpprof::stats
