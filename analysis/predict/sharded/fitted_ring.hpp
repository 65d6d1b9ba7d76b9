// The cost of one kind of a sharded training's collectives at any number of ranks, and what is uncertain in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/fit/sharded/ring_fit.hpp"
#include "analysis/fit/sharded/sharded_job.hpp"

namespace ddpprof::fit {

// One draw of all uncertain quantities. The defaults are the best estimate.
struct ShardedDraw {
  double level = 1.0;                    // of compute
  double gathers = 1.0, scatters = 1.0;  // of the collectives' cost
  double wait = 1.0;
  double exposed = 1.0, extra_exposed = 1.0;  // of the simulated exposed time, of its difference to the measured one
  double changed_exposed = 1.0;               // of exposed communication under a change
  double gather_latency = 0.0, scatter_latency = 0.0;  // of the collectives' latency, in standard deviations
  double fixed_hops = usual_fixed_hops;                // in a call's latency, if one N was measured
  double excess = 0.5;  // the part of a collective's excess over the link's time that other N have, too
  std::optional<double> optimizer_fixed;  // the part of the optimizer that does not shrink with the shard
};

// A collective's fitted cost. All calls of the base's step take their measured time.
struct FittedRing {
  RingCost cost;
  RingCalls calls;  // of the base
  // Both collectives use the same links, so the time per byte of the faster one is that of the link. The other one's
  // excess, for example of messages that wait for each other, may depend on N.
  double link_s_per_byte = 0.0;

  // Returns the cost at this N, with a latency that differs by z standard deviations.
  RingCost drawn(std::int64_t workers, double z, const ShardedDraw&) const;
};

// Returns the part of the calls' time in which data moves: without waiting for slower ranks.
double transfer_s(const UnitCollectives&);

// Fits the measured collectives, and takes the time of the base's own calls in groups of this size.
FittedRing fitted_ring(const std::vector<UnitCollectiveTime>&, const ShardedRanks& base,
                       UnitCollectives UnitTimes::*kind, std::int64_t group, bool on_device);

}  // namespace ddpprof::fit
