// One rank's collectives: each joins the host's call with the run that executed it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

struct Collective {
  std::uint64_t communicator = 0;         // equal on every rank of the group
  std::uint64_t sequence = 0;             // within the communicator, by launch, from 0
  CollectiveOp op = CollectiveOp::other;  // as called: Gloo executes a reduce-scatter as an all-reduce
  CollectiveOp executed = CollectiveOp::other;
  std::int64_t bytes = 0;           // of an all-gather and a reduce-scatter the whole buffer. 0: not recorded
  std::int32_t element_bytes = 0;   // 0: not recorded
  std::optional<std::size_t> call;  // index of the host's call in RankTrace::calls
  std::int64_t launch_ns = 0;       // of the host's call; the run's start if the call is unknown
  std::optional<Span> run;          // none: the run was not recorded
  bool on_host = false;
  bool unfinished = false;  // the run's end is the time when the profiler stopped
  std::int64_t stream = 0;
  std::optional<std::int64_t> recorded_sequence;
  std::int64_t group_size = 0;  // 0: not recorded
  bool integral = false;        // whole numbers: gradients are never integers
  std::int64_t kernels = 1;     // that executed it on a device
  ingest::NcclChoice choice;
  ingest::CallDetails details;
  bool gradient = false;  // reduces a bucket of gradients (gradient_group.hpp)
};

// A group of ranks that exchanged data.
struct ProcessGroup {
  std::uint64_t communicator = 0;
  std::string name, description;    // empty: not recorded
  std::int64_t size = 0;            // 0: not recorded
  std::vector<std::int64_t> ranks;  // empty: not recorded
};
// Returns the groups that the file names, by communicator.
std::vector<ProcessGroup> process_groups(const RankTrace&);

// Returns true if all sequence numbers were recorded and no number occurs twice.
bool sequences_recorded(const std::vector<Collective>&);

// Matches runs to calls: device runs by external id, runs of a backend's threads by size, first in first out. A run of
// an all-gather has the size of one rank's part; a run of an all-reduce may belong to a reduce-scatter. Returns
// the collectives in order of launch. A device run counts as launched at its start until launch_collectives() sets the
// launch.
std::vector<Collective> match_calls(const RankTrace&);

// Sets when the host launched each device run, and puts the collectives in this order. Ends are taken from the store,
// where impossible durations are cut.
void launch_collectives(const SliceStore&, std::vector<Collective>&);

// Adds a run for each call whose kernels its launch made known (SliceStore::called()). Several kernels of one call
// execute one collective.
void add_called_kernels(RankTrace&);

// Returns the collectives that the host executes as slices of communication, in order of start.
std::vector<Slice> runs_on_host(const std::vector<Collective>&);

}  // namespace ddpprof::import
