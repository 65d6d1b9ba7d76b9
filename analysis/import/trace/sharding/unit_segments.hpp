// Divides the host's time in a sharded training's steps into segments, each of which belongs to one unit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

struct UnitSegment {
  Span time;
  std::int64_t step = 0;   // its number
  std::uint32_t unit = 0;  // number of its name
  bool backward = false;
  std::int64_t micro_batch = 0;
  bool copy = false;  // an annotation of FSDP is around it
};

// Returns autograd's backward around the time. Annotations of a forward in it belong to a recomputation.
std::optional<Span> backward_around(const HostStep&, std::int64_t time_ns);

// Returns disjoint segments in order. A unit's forward lasts from the end of its pre_forward to its post_forward, its
// backward from the end of its pre_backward to its post_backward; the rest of forward and backward belongs to the root.
// A forward inside of a backward is recomputation and counts as backward. Time outside of forward and backward belongs
// to no segment. `marks` must be ordered by start, outer marks first.
std::vector<UnitSegment> unit_segments(const std::vector<ShardingMark>& marks,
                                       const std::vector<const HostStep*>& steps);

}  // namespace ddpprof::import
