// One DistributedDataParallel step of ranks that differ: slower devices, mixed nodes, delays in this step.
//
// Every rank and every collective is advanced from event to event, without the code that this judges. If ranks are
// equal, or if one is slower throughout, the result is that of simulate(DdpStep) except for two effects that the
// recurrence leaves out: a slow rank is slow in every micro-batch, and copies back also slow down beside a collective.
// An all-reduce takes longer beside compute (beside_compute_s) until the last rank's backward has ended: its hops
// follow one another, and one rank whose threads wait for a core delays all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/step/ddp_step.hpp"

namespace ddpprof::step {

struct RankDifferences {
  std::vector<double> pace;     // for each rank: time of its forward and backward over the step's; above 0
  std::vector<double> extra_s;  // empty, or ranks × (buckets + 1), rank by rank: delay before each bucket and the end
};

struct DdpRanksResult {
  double step_s = 0.0;
  // Times of each bucket from the beginning of the step. ready: on the first rank; launch: on the last.
  std::vector<BucketTimes> buckets;
  std::vector<std::int64_t> last_rank;  // the rank that each bucket waited for
  std::vector<double> waited_s;         // by rank: from its own readiness to each collective's start, summed
};

// The step's straggler_s must be 0, because `ranks` contains the lateness. Throws std::invalid_argument like
// simulate(DdpStep), and for no rank, a pace that is not above 0, negative delays, or a wrong number of delays.
DdpRanksResult simulate(const DdpStep& step, const RankDifferences& ranks);

}  // namespace ddpprof::step
