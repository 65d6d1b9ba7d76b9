// Statistics of a time range: per name, and per rank the times of computing and communicating.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analysis/timeline/tracks.hpp"

namespace ddpprof::timeline {

// Counts events that touch the range; their times are cut to the range. An instant counts with no time.
struct NameStatistics {
  std::uint32_t name = 0;
  std::int64_t count = 0, total_ns = 0, longest_ns = 0;
  double mean_ns() const { return count > 0 ? static_cast<double>(total_ns) / static_cast<double>(count) : 0.0; }
};

// Steps that lie completely in the range count with the file's values; cut steps count by their intervals. The values
// are unknown if a cut step has no intervals (warm-up steps, and GPUs).
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
  std::vector<NameStatistics> names;  // longest time first, then most events, then by text
  std::vector<RankStatistics> ranks;
};

// For [begin_ns, end_ns). None if cancelled.
std::optional<RangeStatistics> range_statistics(const Timeline&, std::int64_t begin_ns, std::int64_t end_ns,
                                                const std::function<bool()>& cancelled = {});

}  // namespace ddpprof::timeline
