// One DistributedDataParallel step: when each gradient bucket is reduced, and what of that backward does not hide.
//
// ready[i]  the bucket's last gradient, on the slowest rank
// launch[i] = max(ready[i], launch[i-1])            buckets launch strictly in order
// start[i]  = max(launch[i], a lane is free)
// end[i]    = start[i] + all-reduce                 lanes that share a link share its bandwidth, not its latency
// finish    = for i in order: max(finish, end[i]) + copy back of i, from the end of backward on
// step      = (accumulation - 1)(data + forward + backward) + data + buffers + forward + finish + optimizer
// Times are seconds; those of buckets count from the start of the last micro-batch's backward.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/collective/all_reduce.hpp"

namespace ddpprof::step {

struct BucketWork {
  double ready_s = 0.0;      // on a median rank that communicates nothing
  collective::Cost cost;     // of its all-reduce alone on the link
  double copy_back_s = 0.0;  // 0 with bucket views and no communication hook
  // How much longer the all-reduce would take if this rank's compute ran beside it throughout: threads that carry it
  // wait for a core that computes. 0 where it has processors of its own.
  double beside_compute_s = 0.0;
};

struct DdpStep {
  double data_s = 0.0;     // exposed wait for input
  double buffers_s = 0.0;  // buffer broadcast before the forward
  double forward_s = 0.0;
  double backward_s = 0.0;  // of one micro-batch, without communication
  double optimizer_s = 0.0;
  // How much later than the median rank the slowest one ends its backward. It grows evenly over forward and backward,
  // so an early bucket waits less than the last.
  double straggler_s = 0.0;
  double slowdown = 1.0;  // s >= 1: compute runs at 1/s of its speed while a collective is in flight
  int lanes = 1;          // collectives in flight at once: 1 for NCCL, Gloo's worker threads (2)
  bool lanes_share_link = true;
  std::int64_t accumulation = 1;
  std::vector<BucketWork> buckets;  // in launch order
};

struct BucketTimes {
  double ready_s = 0.0;
  double launch_s = 0.0;
  double start_s = 0.0;
  double end_s = 0.0;
};

struct DdpResult {
  double step_s = 0.0;
  double backward_s = 0.0;       // stretched by the slowdown, the straggler's lateness included
  double finish_s = 0.0;         // from backward's start to the last copy back
  double communication_s = 0.0;  // union of the collectives
  double overlapped_s = 0.0;     // communication while backward runs
  double exposed_s = 0.0;        // buffers + max(0, finish - backward): as defined for a report
  double exposed_copy_s = 0.0;   // the part of exposed_s after the last collective: copies back
  collective::Cost cost;         // sum over the buckets, alone on the link
  std::vector<BucketTimes> buckets;
};

// Throws std::invalid_argument as below.
void validate(const DdpStep&);

// Exact for this model (piecewise constant rates, no time stepping). Throws std::invalid_argument when a time is
// negative or not finite, slowdown < 1, lanes < 1 or accumulation < 1.
DdpResult simulate(const DdpStep&);

}  // namespace ddpprof::step
