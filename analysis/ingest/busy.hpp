// Computes when a step computes and communicates, as interval sets. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/ingest/intervals.hpp"
#include "analysis/ingest/shard_trace.hpp"

namespace ddpprof::ingest {

// DDP's backward waits for its buckets, so a bucket cannot be in flight after it. But the backend's thread records the
// end after it has woken the waiting thread. On busy cores the recorded end may be a time slice late. This function
// cuts the ends of gradient buckets to the end of the backward in which they were launched. Returns how many were late.
std::int64_t cut_late_ends(ShardTrace&);

// The facts of one step. Phases are clipped to the step, except those of the data loader.
struct StepFacts {
  Interval time;
  std::vector<PhaseFact> phases;
  std::vector<GradFact> grads;                     // of every micro-batch, by time
  std::vector<const CollectiveFact*> collectives;  // launched in the step
};

// Returns the part of each backward in which its thread only waits: from the last gradient or launch to the last end of
// a collective.
IntervalSet collective_waits(const StepFacts&);
// Returns forward, backward and optimizer without waiting and copying, and the replicas' ranges.
IntervalSet host_compute(const StepFacts&);
// Returns DataParallel's copies.
IntervalSet host_copies(const StepFacts&);

// Returns the waits for data and the host's copies to the device.
IntervalSet input_waits(const StepFacts&);

// The unions of the shard's collectives, kernels and copies.
class Activity {
 public:
  explicit Activity(const ShardTrace&);
  IntervalSet compute(const StepFacts&) const;
  IntervalSet communication(const StepFacts&) const;
  // Returns the time in which the device waits for the host's launches: it runs no kernel, copy or collective, and the
  // step does not wait for input. nullopt without kernels, as on a CPU. Several devices wait if all of them do.
  std::optional<std::int64_t> device_idle_ns(const StepFacts&, const IntervalSet& compute,
                                             const IntervalSet& communication) const;

 private:
  bool has_kernels_, has_compute_kernels_;
  IntervalSet host_timed_, compute_kernels_, nccl_kernels_, waits_, device_copies_, peer_copies_;
};

}  // namespace ddpprof::ingest
