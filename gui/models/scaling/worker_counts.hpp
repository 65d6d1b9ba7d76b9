// Which N a curve is drawn at: few enough to be simulated within a frame, dense enough to look smooth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ddpprof::gui::whatif {

inline constexpr std::size_t most_counts = 64;

// 1 to `limit`, evenly in the logarithm; every power of two, every one of `measured` and `chosen` among them (those
// that are within the limit). At most most_counts as long as powers and measured leave room; ascending. All but
// `chosen` stay when `chosen` alone changes.
std::vector<std::int64_t> curve_counts(std::int64_t limit, std::span<const std::int64_t> measured, std::int64_t chosen);

// The N of the tables and of the command line: measured, powers of two, the limit and the chosen.
std::vector<std::int64_t> table_counts(std::int64_t limit, std::span<const std::int64_t> measured, std::int64_t chosen);

// The order in which they are simulated, so that any beginning of it draws a whole curve, only coarser: the chosen, the
// ends, then always the middle of the largest gap.
std::vector<std::int64_t> coarse_to_fine(std::span<const std::int64_t> counts, std::int64_t chosen);

}  // namespace ddpprof::gui::whatif
