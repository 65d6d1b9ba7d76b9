// Coarser levels of one row of events, made once after the load: a frame walks a level whose blocks are about a pixel.
//
// A level of resolution r holds every event of r or longer by itself, and shorter ones folded: at most one block for
// each r of time between them. So a view of W ns walks at most 2 W / r blocks, however many events there are. A level
// is kept only where it is a quarter of the one below, which bounds all of them to a third of the events' number.
#pragma once

#include <cstdint>
#include <vector>

namespace ddpprof::timeline {

struct Row;

struct Block {
  std::int64_t start_ns = 0, end_ns = 0;  // of the first and the last event within
  std::int64_t busy_ns = 0;               // sum of their durations
  std::uint32_t first = 0;                // index of its first event; the next block's tells how many it holds
  std::uint32_t longest = 0;              // index of its longest event, the earliest of them
};

struct Level {
  std::int64_t resolution_ns = 0;
  std::vector<Block> blocks;
};

inline constexpr std::int64_t finest_resolution_ns = 256;

// Replaces row.levels; its events must be in place.
void make_levels(Row& row);

// The coarsest level whose blocks are no wider than `ns_per_pixel`, or null where the events themselves are walked.
const Level* level_for(const Row& row, double ns_per_pixel);

// Events of block `i`.
std::uint32_t count_of(const Row& row, const Level& level, std::size_t i);

// The first block that ends after `time_ns`, or starts at it or later.
std::size_t first_touching(const Level& level, std::int64_t time_ns);

}  // namespace ddpprof::timeline
