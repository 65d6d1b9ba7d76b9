// When one step computes and when it communicates, as interval sets. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/ingest/intervals.hpp"
#include "analysis/ingest/shard_trace.hpp"

namespace ddpprof::ingest {

// DDP's backward waits for its buckets, so none of them is in flight after it. The backend's thread tells of the end
// after it has woken the waiting one, and on busy cores a recorded end may be a time slice late: those of gradient
// buckets are cut to the end of the backward they were launched in. Returns how many were late.
std::int64_t cut_late_ends(ShardTrace&);

// The facts of one step; phases are clipped to it, but for those of the data loader.
struct StepFacts {
  Interval time;
  std::vector<PhaseFact> phases;
  std::vector<GradFact> grads;                     // every micro-batch's, by time
  std::vector<const CollectiveFact*> collectives;  // launched in the step
};

// The part of each backward in which its thread only waits: from the last gradient or launch to the last end.
IntervalSet collective_waits(const StepFacts&);
// Forward, backward and optimizer without waiting or copying, and the replicas.
IntervalSet host_compute(const StepFacts&);
// The copies of DataParallel.
IntervalSet host_copies(const StepFacts&);

// The whole shard's collectives, kernels and peer copies, united once.
class Activity {
 public:
  explicit Activity(const ShardTrace&);
  IntervalSet compute(const StepFacts&) const;
  IntervalSet communication(const StepFacts&) const;

 private:
  bool has_kernels_;
  IntervalSet host_timed_, compute_kernels_, nccl_kernels_, peer_copies_;
};

}  // namespace ddpprof::ingest
