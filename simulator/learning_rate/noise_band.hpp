// Confidence interval of the gradient noise scale of some steps.
//
// It is a ratio of two noisy means over steps that resemble their neighbours. Steps are taken together in blocks of at
// least twice, where there are enough five times, the autocorrelation time of tr(Sigma) - phi |G|^2 (batch means); the
// interval is Fieller's (1954, "Some Problems in Interval Estimation") over the blocks: every phi that Student's test
// at blocks - 1 degrees of freedom does not rule out. Where |G|^2 itself cannot be told from 0 it has no upper end: a
// symmetrical error of the ratio would hide that.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "simulator/learning_rate/noise_scale.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::learning_rate {

struct NoiseBand {
  stats::Interval noise_scale_samples;  // high may be infinite; so is mid where the mean of |G|^2 is not above 0
  std::size_t steps = 0;                // that it rests on
  std::size_t blocks = 0;               // of neighbouring steps, taken as independent of each other
};

inline constexpr std::size_t fewest_blocks = 8, most_blocks = 64;

// Returns the band of the mean over these steps. If the noise scale changes, use a part of the training at a time.
// Steps at the front that do not fill a block are left out. Returns nothing if there are fewer than `fewest_blocks`
// blocks. Simulated coverage of a 90 % band: 85 to 95 % with 200 independent steps or more, and with 600 and 2000 steps
// whose neighbours' correlation is 0.7 and 0.9. With fewer correlated steps the correlation is underestimated, and the
// band is too narrow: at correlations of 0.3 and 0.5 it covers about 80 and 65 % with 20 steps, and 87 and 79 % with
// 40; at 0.9 three quarters with 200. Throws std::invalid_argument for a confidence outside (0, 1) or a sample that is
// not finite.
std::optional<NoiseBand> noise_band(std::span<const NoiseSample>, double confidence);

}  // namespace ddpprof::learning_rate
