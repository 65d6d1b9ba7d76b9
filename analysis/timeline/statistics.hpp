// What a range of time holds: per name, and per rank when it computes and communicates.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {

// Events that touch the range; their times are cut to it. An instant counts and takes no time.
struct NameStatistics {
  std::uint32_t name = 0;
  std::int64_t count = 0, total_ns = 0, longest_ns = 0;
  double mean_ns() const { return count > 0 ? static_cast<double>(total_ns) / static_cast<double>(count) : 0.0; }
};

// Steps that lie wholly in the range count as the file has them, those that are cut as their intervals say; the figures
// are unknown where a step is cut whose intervals are not (warm-up steps, and GPUs).
struct RankStatistics {
  struct Time {
    std::int64_t compute_ns = 0, communication_ns = 0, overlapped_ns = 0, exposed_ns = 0, skew_ns = 0;
  };
  std::uint32_t rank = 0;  // index into Timeline::ranks
  std::int64_t whole_steps = 0, cut_steps = 0;
  std::optional<Time> time;
};

struct RangeStatistics {
  std::int64_t begin_ns = 0, end_ns = 0, events = 0;
  std::vector<NameStatistics> names;  // most time first, then most events, then by text
  std::vector<RankStatistics> ranks;
};

// Of [begin_ns, end_ns). None when cancelled.
std::optional<RangeStatistics> range_statistics(const Timeline&, std::int64_t begin_ns, std::int64_t end_ns,
                                                const std::function<bool()>& cancelled = {});

}  // namespace ddpprof::timeline
