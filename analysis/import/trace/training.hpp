// Derives facts of training from the data collected of one rank: steps, phases, gradients, buckets and collectives, on
// one clock. Ingestion does the rest, as for a run of ddpprof.
//
// If the rank computed on devices, all times are device times. A host time becomes the end of the work launched by then
// (launch_order.hpp): a step lasts from the end of one step's work to the end of the next step's, and a gradient is
// ready when the kernels before its hook have ended. Without devices, times are the host's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/import/trace/collectives/collectives.hpp"
#include "analysis/import/trace/device_time.hpp"
#include "analysis/import/trace/parallelism.hpp"
#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/sharding/sharded_training.hpp"
#include "analysis/import/trace/training_steps.hpp"
#include "analysis/ingest/diagnostics.hpp"
#include "analysis/ingest/shard_trace.hpp"

namespace ddpprof::import {

struct TrainingOptions {
  std::optional<std::int64_t> batch_per_worker;  // none: taken from the first operation with shapes
  std::optional<std::int64_t> parameter_bytes;   // of all gradients, if messages do not give it
};

struct Note {
  ingest::Severity severity = ingest::Severity::info;
  std::string code;
  std::int64_t count = 1;
  std::string message, advice;
};

// Memory of tensors on one of a rank's devices, from the first step's begin to the last one's end.
struct DeviceMemory {
  std::int64_t peak_bytes = 0, held_bytes = 0;  // held: at the end
};

struct WindowTime {
  std::string name;  // name of the step's annotation, or "all"
  Window window;
  DeviceTime time;
};

struct Training {
  ingest::ShardTrace shard;
  bool on_device = false;
  bool device_not_recorded = false;  // the job used devices, but no event of them was read
  std::int64_t whole_graphs = 0;     // CUDA graphs recorded as a whole: the kernels in them are unknown
  StepSource source = StepSource::none;
  std::int64_t parameter_bytes = 0;  // 0: unknown
  std::int64_t parameter_count = 0;
  std::int64_t batch_per_worker = 0;  // 0: unknown
  std::int64_t accumulation = 1;
  std::int64_t steps = 0;           // in the shard
  bool sequences_recorded = false;  // collectives have the numbers of their library
  Parallelism parallelism = Parallelism::data;
  // Recognised::replicas. If they are unknown and the batch was given, none: the batch counts for all ranks.
  std::optional<std::int64_t> replicas;
  bool parameters_known = false;  // the size of each parameter is known, not only of buckets
  bool sizes_assumed = false;     // ModelFacts::sizes_assumed
  std::vector<WindowTime> device_times;
  std::vector<ProcessGroup> groups;
  ShardedTraining sharding;          // without units: not recognised
  std::vector<DeviceMemory> memory;  // the fullest device first, then by number
  std::vector<Note> notes;
};

// Finishes the rank's sorters. The rank must not be used afterwards.
Training derive_training(RankTrace&, const TrainingOptions&);

}  // namespace ddpprof::import
