// Coarser levels of one row of events, computed once after loading. A frame uses a level whose blocks are about one
// pixel wide.
//
// In a level of resolution r, an event of r or longer has its own block. Shorter events that start in the same interval
// [k r, (k + 1) r) share one block. So a view of W ns needs about 2 W / r blocks at most, for any number of events. A
// level is kept only if it has at most a quarter as many blocks as the level below it (the finest level: a quarter of
// the number of events). So all levels together have at most a third as many blocks as there are events.
#pragma once

#include <cstdint>
#include <vector>

namespace ddpprof::timeline {

struct Row;

struct Block {
  std::int64_t start_ns = 0, end_ns = 0;  // from the first to the last event in the block
  std::int64_t busy_ns = 0;               // sum of their durations
  std::uint32_t first = 0;                // index of its first event; it holds the events up to the next block's first
  std::uint32_t longest = 0;              // index of its longest event; ties go to the earliest
};

struct Level {
  std::int64_t resolution_ns = 0;
  std::vector<Block> blocks;
};

inline constexpr std::int64_t finest_resolution_ns = 256;

// Replaces row.levels. The row's events must be complete.
void make_levels(Row& row);

// Returns the coarsest level whose blocks are at most as wide as `ns_per_pixel`, or null if the events themselves must
// be used.
const Level* level_for(const Row& row, double ns_per_pixel);

// Returns the number of events in block `i`.
std::uint32_t count_of(const Row& row, const Level& level, std::size_t i);

// Returns the first block that ends after `time_ns`, or starts at `time_ns` or later.
std::size_t first_touching(const Level& level, std::int64_t time_ns);

}  // namespace ddpprof::timeline
