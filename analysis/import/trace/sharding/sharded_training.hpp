// Finds the units of a sharded training (FSDP2, FSDP1), and what each step does for each unit: gathering parameters,
// scattering gradients, computing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/import/trace/collectives/collectives.hpp"
#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/training_steps.hpp"
#include "analysis/ingest/intervals.hpp"

namespace ddpprof::import {

// A module whose parameters are gathered together. The root is the module around all units; it may have no parameters
// of its own.
struct ShardedUnit {
  std::string name;  // of the module, of FSDP1 "unit 1", …; empty: the root
  bool root = false;
  std::optional<std::int64_t> parameters;  // trained scalars, without padding; none: not recorded
  // The whole buffer of one all-gather and of one reduce-scatter, padded to equal parts. 0: none, or not recorded.
  std::int64_t gathered_bytes = 0, scattered_bytes = 0;
  std::int32_t gathered_element_bytes = 0, scattered_element_bytes = 0;  // 0: not recorded
  std::int64_t ranks = 0;                                                // among which it is sharded; 0: unknown
  std::optional<bool> gathers_again;    // the backward gathers the parameters a second time; none: without backward
  bool scatters_by_all_reduce = false;  // the backend executes the reduce-scatter as an all-reduce
};

enum class UnitAction : std::uint8_t {
  all_gather,
  reduce_scatter,
  all_reduce,  // over replicas of the shards
  compute,     // without copies
  copy,        // into and out of the buffers of collectives, and FSDP's other work
};

// Work of one step for one unit: one collective, or all work of a kind in one forward or backward.
struct UnitWork {
  std::int64_t step = 0;  // its number
  std::size_t unit = 0;
  UnitAction action = UnitAction::compute;
  bool backward = false;
  std::int64_t micro_batch = 0;
  std::optional<std::int64_t> launch_ns;  // of a collective
  Span time;                              // of work: from its first begin to its last end
  std::int64_t busy_ns = 0;               // of work: the union of its intervals
  // Only for collectives:
  std::int64_t bytes = 0;                // 0: not recorded
  std::int64_t exposed_ns = 0;           // the rank does not compute meanwhile
  std::optional<std::size_t> hidden_by;  // the unit whose work hides most of it
  bool prefetched = false;               // launched ahead, while another unit runs
};

struct ShardedTraining {
  std::vector<ShardedUnit> units;  // in order of their first forward
  bool annotated = false;          // units are those of annotations; otherwise of the collectives alone
  std::vector<UnitWork> work;      // by step and time
  std::int64_t unassigned = 0;     // all-gathers and reduce-scatters in the steps that belong to no unit
};

// Units are found by the annotations of FSDP, or by the collectives if the rank has no annotation and `sharded`.
// Returns no unit if neither shows any. `waits` are the times in which a rank without devices only waits
// (busy_host.hpp). The rank's slices must be finished.
ShardedTraining sharded_training(const RankTrace&, bool sharded, const std::vector<const HostStep*>& steps,
                                 const std::vector<Collective>&, const std::vector<ingest::Interval>& waits);

}  // namespace ddpprof::import
