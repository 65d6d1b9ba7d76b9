// One rank's collectives: the host's call and the run that carried it out, brought together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

struct Collective {
  std::uint64_t communicator = 0;  // equal on every rank of the group
  std::uint64_t sequence = 0;      // within it, by launch, from 0 on
  CollectiveOp op = CollectiveOp::other;
  std::int64_t bytes = 0;      // 0: not recorded
  std::int64_t launch_ns = 0;  // the host's; the run's start where the call is not known
  std::optional<Span> run;     // none: the call's run was not recorded
  bool on_host = false;
  bool unfinished = false;  // the run's end is when the profiler stopped
  std::int64_t stream = 0;
  std::optional<std::int64_t> recorded_sequence;
  std::int64_t group_size = 0;  // 0: not recorded
  ingest::NcclChoice choice;
  bool gradient = false;  // reduces a bucket of gradients (gradient_group.hpp)
};

// Whether each one's number was recorded, and none twice.
bool sequences_recorded(const std::vector<Collective>&);

// Runs on devices find their call by its external id, those of a backend's threads by their size, first in first out.
// In order of launch. A device's run is launched when it starts, until launch_collectives() says better.
std::vector<Collective> match_calls(const RankTrace&);

// Sets when the host launched each run on a device, and puts the collectives in that order; ends follow those of the
// store, where impossible durations are cut.
void launch_collectives(const SliceStore&, std::vector<Collective>&);

}  // namespace ddpprof::import
