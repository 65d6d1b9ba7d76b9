// One DistributedDataParallel step of ranks that differ: slower devices, mixed nodes, this step's own delays.
//
// Every rank is on the graph (engine/graph.hpp): a compute lane and a communication lane; one event a collective and
// rank. Where ranks are equal, or one is slower throughout, it gives what simulate(DdpStep) gives, but for two things
// that the recurrence leaves out: a slow rank is slow in every micro-batch, and copies back slow down too beside a
// collective. An all-reduce takes longer beside compute (beside_compute_s) until the last rank's backward has ended:
// its hops follow one another, and one rank whose threads wait for a core holds up all.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/step/ddp_step.hpp"

namespace ddpprof::step {

struct RankDifferences {
  std::vector<double> pace;     // one a rank, above 0: its forward and backward take so many times the step's
  std::vector<double> extra_s;  // empty, or ranks × (buckets + 1), rank by rank: delay before each bucket and the end
};

struct DdpRanksResult {
  double step_s = 0.0;
  // Of each bucket, from the step's beginning. ready: on the first rank; launch: on the last.
  std::vector<BucketTimes> buckets;
  std::vector<std::int64_t> last_rank;  // whom each bucket waited for
  std::vector<double> waited_s;         // by rank: from its own readiness to each collective's start, summed
};

// The step's own straggler_s must be 0: lateness is in `ranks`. Throws std::invalid_argument like simulate(DdpStep),
// and for no rank, a pace that is not above 0, or delays that are negative or whose number does not fit.
DdpRanksResult simulate(const DdpStep& step, const RankDifferences& ranks);

}  // namespace ddpprof::step
