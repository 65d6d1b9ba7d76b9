// The steps and collectives of the trace database, condensed to the medians that fits and predictions use.
//
// Only measurements of kind train or bench-comm whose status is not `failed` count. Medians are of the samples of all
// repeats; their standard errors include the differences between repeats. If several workloads share a database,
// most_measured_workload picks one (workload_key.hpp). Workloads that differ from it in the batch alone show how
// compute grows with the batch; the others are not used, with a warning. Times are seconds. Steps of one index on all
// ranks of a measurement form one step of the run; its time is their mean (docs/design/the-step-of-a-run.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/collective/curve.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::fit {

struct Machine {
  std::int64_t workers = 1;  // N
  std::int64_t threads_per_rank = 1;
  std::int64_t cores = 1;     // of one host
  std::int64_t nodes = 1;     // hosts, as the network knows them
  std::int64_t machines = 1;  // pools of cores: containers of one machine are hosts of their own on one pool
  std::string backend;
  std::string device;

  std::int64_t ranks_per_host() const { return (workers + nodes - 1) / nodes; }
  std::int64_t ranks_per_machine() const { return (workers + machines - 1) / machines; }
  // Compute threads over cores, never below 1.
  double crowding() const;
};

struct Bucket {
  std::int64_t bytes = 0;
  double ready_s = 0.0;  // after backward's start, median over ranks and steps
};

// Collectives besides the buckets of the last backward, per step.
struct OtherMessage {
  std::int64_t bytes = 0;
  double count = 0.0;
};

struct GradientReady {
  std::int64_t parameter = 0;  // its place in order of registration
  std::int64_t bytes = 0;
  std::int32_t element_bytes = 4;
  double ready_s = 0.0;  // after backward's start
};

// Parts of a step that do not overlap, as shares of the step. They add up to 1.
struct StepShares {
  double compute = 0.0;
  double exposed = 0.0;  // communication that no compute hides, without waiting; dp: the copies
  double skew = 0.0;     // waiting for slower ranks
  double host = 0.0;     // the device waits for the host's launches
  double other = 0.0;    // input, buffers, copies, gaps
  double input = 0.0;    // of other
  double idle_before = 0.0;  // of host: outside of every phase, before the last backward
};

// The measured steps of one strategy at one N.
struct StepProfile {
  Machine machine;
  std::string strategy;
  std::int64_t parameter_bytes = 0;
  double element_bytes = 0.0;                     // of a parameter; 0: unknown
  std::vector<double> step_s;                     // mean over the ranks, one a measured step
  std::vector<std::vector<double>> step_repeats;  // the same, by repeat
  StepShares shares;                // means over the steps: medians of the parts would not add up to the median step
  double samples_per_worker = 0.0;  // of one step
  double data_s = 0.0;              // data wait and host to device
  double buffers_s = 0.0;
  double forward_s = 0.0;   // forwards, and the backwards before the last one; on a device also the time between them
  double backward_s = 0.0;  // to the last gradient; dp: the backward phase
  double tail_s = 0.0;      // from the last gradient or collective to backward's end: copies back
  // N = 1: from the last gradient to the end of the last collective, which exchanges nothing. In no other part.
  double calls_alone_s = 0.0;
  double optimizer_s = 0.0;
  double gap_s = 0.0;            // outside of every phase
  double idle_share = 0.0;       // of compute_s() in which the device runs no kernel; 0 on a CPU
  double copies_share = 0.0;     // of compute_s() in which the device copies and runs no kernel
  double idle_gap_s = 0.0;       // of gap_s, in which the device waits for the host's launches
  double step_noise = 0.0;       // relative standard error of step_s' median
  double compute_noise = 0.0;    // relative standard error of the compute time
  double step_jitter = 0.0;      // spread of one rank's compute from step to step, relative
  double straggler_s = 0.0;      // how much later than the median rank the slowest arrives, median over steps
  double slowest_rank_s = 0.0;   // how much longer than the median rank one rank computes, each by its median step
  double unwrapped_s = 0.0;      // compute of the step without the DDP wrapper, 0 when not measured
  double overlapped_s = 0.0;     // communication that intersects compute
  double communication_s = 0.0;  // in flight, waiting for others included; dp: the copies
  double exposed_s = 0.0;        // part of communication_s that no compute hides
  double waited_s = 0.0;         // for other ranks inside of collectives
  // Imports: exposed part of the collectives besides the last backward's buckets, without waiting for other ranks, and
  // that waiting. Neither is in forward_s, backward_s and gap_s.
  double others_s = 0.0, others_wait_s = 0.0;
  std::vector<OtherMessage> others;      // of known size
  std::vector<Bucket> buckets;           // ddp, launch order
  std::vector<GradientReady> gradients;  // ddp, in the order they become ready; empty when not recorded
  std::int64_t accumulation = 1;
  std::int64_t batch_per_worker = 0;  // of one micro-batch
  std::optional<double> bucket_cap_mb;
  bool find_unused_parameters = false;
  bool compressed = false;
  bool waits_estimated = false;  // imports without all ranks: waited_s and shares.skew are estimates (unseen_waits.hpp)

  double compute_s() const { return forward_s + backward_s + optimizer_s; }
  bool waits_for_host() const { return idle_share > 0.0 || idle_gap_s > 0.0; }
};

// One DataParallel copy phase at one N.
struct CopyPoint {
  std::string phase;  // replicate, scatter, gather, reduce
  std::int64_t workers = 1;
  double bytes = 0.0;
  double duration_s = 0.0;
  double noise = 0.0;  // relative standard error
};

// All-reduces of one size at one N.
struct CollectivePoint {
  Machine machine;
  std::int64_t bytes = 0;
  double concurrency = 1.0;     // collectives in flight at once, mean over this one's life
  double beside_compute = 0.0;  // share of its life during which this rank's backward ran
  double transfer_s = 0.0;      // mean of the fastest rank's durations without the slowest fortieth
  double core_share = 0.0;      // of one core, that a rank keeps busy meanwhile; 0 when not taken
  double noise = 0.0;           // relative standard error of it
  std::int64_t count = 0;
  bool bench = false;       // bench-comm rather than a training step
  std::string regime = {};  // NCCL's algorithm and protocol, "RING/LL128"; empty: not known
};

// Forward and backward of one micro-batch, at one N and batch.
struct BatchPoint {
  std::int64_t workers = 1;
  std::int64_t batch = 0;  // samples of a micro-batch on one worker
  double passes_s = 0.0;
  double noise = 0.0;      // relative standard error
  std::int64_t level = 0;  // points of one level differ in the batch alone
};

struct Measured {
  std::map<std::int64_t, StepProfile> ddp;  // by N
  std::map<std::int64_t, StepProfile> dp;
  std::vector<CopyPoint> copies;
  std::vector<CollectivePoint> collectives;  // N > 1
  // By strategy: points of the profiles, and of workloads that differ from the profiles in the batch alone. Empty if
  // every run had the same batch.
  std::map<std::string, std::vector<BatchPoint>> batches;
  // By strategy, N and batch: runs that differ from the profiles in the batch alone.
  std::map<std::string, std::map<std::pair<std::int64_t, std::int64_t>, StepProfile>> other_batches;
  // All-reduces of imported nccl-tests logs. They replace the fitted links.
  std::vector<collective::Curve> curves;
  std::vector<std::string> warnings;  // inconsistencies found while reading
  bool mixed = false;                 // other workloads were left out
  std::string unlike_batches;         // several ranks with another batch than the one that is used, in words
  bool no_common_step = false;        // of a measurement, steps were recorded, but none by every rank
  bool imported = false;              // all data are from other programs' files, so nothing can be measured again
  // Message and advice of the import if the training is not data-parallel.
  std::string not_predicted, not_predicted_advice;
};

Measured load(store::Database&);

// Median and its relative standard error, from the spread and number of samples and from the spread of the repeats'
// medians.
struct Summary {
  double median = 0.0;
  double relative_error = 0.0;
};
Summary summarise(const std::vector<double>&);
Summary summarise(const std::vector<std::vector<double>>& repeats);

}  // namespace ddpprof::fit
