// One step of a training whose parameters are sharded by units (FSDP), on the engine's graph (engine/graph.hpp).
//
// In the forward each unit's parameters are gathered before it computes, in the backward again if they were dropped.
// Gradients are scattered after the unit's backward, of the last micro-batch only or of each. All collectives use one
// communicator, so they run one after the other. Times are seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ddpprof::strategy {

struct ShardedUnit {
  double forward_s = 0.0, backward_s = 0.0;  // compute, with copies into and out of buffers
  double gather_s = 0.0, scatter_s = 0.0;    // of one collective
  bool gathers_again = true;                 // the backward gathers a second time
};

struct ShardedStep {
  // In order of the forward. The first is the root: its parameters are gathered first, and it computes after the other
  // units in the forward and before them in the backward.
  std::vector<ShardedUnit> units;
  double optimizer_s = 0.0;
  std::int64_t micro_batches = 1;
  bool scatters_each_micro_batch = false;  // gradients are scattered in each micro-batch
  // true: the rank waits for each collective, as FSDP does on a CPU. false: while a unit computes, the next one is
  // gathered, and scatters run beside the backward.
  bool waits = false;
};

struct ShardedOutcome {
  double step_s = 0.0;
  double compute_s = 0.0;        // of all units, and the optimizer
  double communication_s = 0.0;  // sum of all collectives
  double exposed_s() const { return step_s - compute_s; }
};

// Kinds of work of the step for one unit.
enum class ShardedWork { forward, backward, gather, scatter };
struct ShardedActivity {
  ShardedWork work = ShardedWork::forward;
  std::size_t unit = 0;  // its place in ShardedStep::units
  double begin_s = 0.0, end_s = 0.0;
};

// Throw std::invalid_argument without a unit, with fewer than one micro-batch, or if a time is negative or infinite.
ShardedOutcome simulate(const ShardedStep&);
// Returns the activities of the simulated step in order of their start, without those that take no time.
std::vector<ShardedActivity> activities(const ShardedStep&);

}  // namespace ddpprof::strategy
