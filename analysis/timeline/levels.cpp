#include "analysis/timeline/levels.hpp"

#include <algorithm>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {
namespace {

constexpr std::size_t shrink = 4;        // a level must be smaller by this factor
constexpr std::size_t few_enough = 256;  // no coarser level is needed
constexpr std::int64_t resolution_step = 4;

// `at(i)` returns the i-th block of the level below. Returns an empty vector if the result would have more than `most`
// blocks.
template <class At>
std::vector<Block> folded(std::size_t count, At at, std::int64_t resolution_ns, std::size_t most) {
  std::vector<Block> blocks;
  std::int64_t cell = 0;
  bool open = false;  // the last block may take more events
  std::int64_t longest_ns = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [block, block_longest_ns] = at(i);
    const bool is_short = block.end_ns - block.start_ns < resolution_ns;
    const std::int64_t own_cell = block.start_ns / resolution_ns;
    if (open && is_short && own_cell == cell) {
      Block& last = blocks.back();
      last.end_ns = block.end_ns;
      last.busy_ns += block.busy_ns;
      if (block_longest_ns > longest_ns) {
        longest_ns = block_longest_ns;
        last.longest = block.longest;
      }
      continue;
    }
    if (blocks.size() == most) return {};
    blocks.push_back(block);
    open = is_short;
    cell = own_cell;
    longest_ns = block_longest_ns;
  }
  return blocks;
}

struct Below {
  Block block;
  std::int64_t longest_ns;
};

}  // namespace

void make_levels(Row& row) {
  row.levels.clear();
  std::size_t below = row.size();
  if (row.size() == 0) return;
  const std::int64_t span_ns = row.end_ns(row.size() - 1) - row.start_ns.front();
  for (std::int64_t resolution_ns = finest_resolution_ns; below > few_enough && resolution_ns <= span_ns;
       resolution_ns *= resolution_step) {
    const std::size_t most = below / shrink;
    std::vector<Block> blocks;
    if (row.levels.empty()) {
      blocks = folded(
          row.size(),
          [&row](std::size_t i) {
            const auto index = static_cast<std::uint32_t>(i);
            return Below{{row.start_ns[i], row.end_ns(i), row.duration_ns[i], index, index}, row.duration_ns[i]};
          },
          resolution_ns, most);
    } else {
      const std::vector<Block>& last = row.levels.back().blocks;
      blocks = folded(
          last.size(),
          [&](std::size_t i) {
            return Below{last[i], row.duration_ns[last[i].longest]};
          },
          resolution_ns, most);
    }
    if (blocks.empty()) continue;
    blocks.shrink_to_fit();
    below = blocks.size();
    row.levels.push_back({resolution_ns, std::move(blocks)});
  }
}

const Level* level_for(const Row& row, double ns_per_pixel) {
  const Level* best = nullptr;
  for (const Level& level : row.levels) {
    if (static_cast<double>(level.resolution_ns) > ns_per_pixel) break;
    best = &level;
  }
  return best;
}

std::uint32_t count_of(const Row& row, const Level& level, std::size_t i) {
  const auto next = i + 1 < level.blocks.size() ? level.blocks[i + 1].first : static_cast<std::uint32_t>(row.size());
  return next - level.blocks[i].first;
}

std::size_t first_touching(const Level& level, std::int64_t time_ns) {
  const auto found = std::partition_point(level.blocks.begin(), level.blocks.end(), [time_ns](const Block& block) {
    return block.end_ns <= time_ns && block.start_ns < time_ns;
  });
  return static_cast<std::size_t>(found - level.blocks.begin());
}

}  // namespace ddpprof::timeline
