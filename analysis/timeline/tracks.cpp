#include "analysis/timeline/tracks.hpp"

#include <algorithm>
#include <numeric>

namespace ddpprof::timeline {

std::size_t Row::first_touching(std::int64_t time_ns) const {
  const std::size_t from = first_from(time_ns);
  return from > 0 && end_ns(from - 1) > time_ns ? from - 1 : from;
}

std::size_t Row::first_from(std::int64_t time_ns) const {
  return static_cast<std::size_t>(std::lower_bound(start_ns.begin(), start_ns.end(), time_ns) - start_ns.begin());
}

std::string Rank::title() const {
  return "rank " + std::to_string(rank) + (host.empty() ? "" : " · " + host) + (clock.empty() ? "" : " · " + clock);
}

std::int64_t Timeline::events() const {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0},
                         [](std::int64_t sum, const Row& row) { return sum + static_cast<std::int64_t>(row.size()); });
}

std::int64_t Timeline::memory_bytes() const {
  std::size_t sum = 0;
  for (const Row& row : rows) {
    sum += row.start_ns.capacity() * 8 + row.duration_ns.capacity() * 8 + row.name.capacity() * 4 +
           row.argument.capacity() * 4;
    for (const Level& level : row.levels) sum += level.blocks.capacity() * sizeof(Block);
  }
  return static_cast<std::int64_t>(sum);
}

}  // namespace ddpprof::timeline
