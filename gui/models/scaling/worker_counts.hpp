// The N at which a curve is computed: few enough for one frame, dense enough for a smooth curve.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ddpprof::gui::whatif {

inline constexpr std::size_t most_counts = 64;

// Returns N from 1 to `limit`, evenly spaced in the logarithm, ascending. Includes every power of two, every one of
// `measured`, and `chosen`, as far as they are within the limit. Returns at most most_counts values, unless powers and
// measured values are more. If only `chosen` changes, all other values stay.
std::vector<std::int64_t> curve_counts(std::int64_t limit, std::span<const std::int64_t> measured, std::int64_t chosen);

// Returns the N of the tables and of the command line: measured N, powers of two, the limit and the chosen N.
std::vector<std::int64_t> table_counts(std::int64_t limit, std::span<const std::int64_t> measured, std::int64_t chosen);

// Returns the order of simulation: the chosen N, both ends, then always the middle of the largest gap. So any prefix of
// the order gives a whole curve, only coarser.
std::vector<std::int64_t> coarse_to_fine(std::span<const std::int64_t> counts, std::int64_t chosen);

}  // namespace ddpprof::gui::whatif
