// From what was gathered of one rank to facts of training: steps, phases, gradients, buckets and collectives, on one
// clock of one kind. The rest is ingestion's, as of a run of our own.
//
// Where the rank computed on devices, all times are the devices'. A moment of the host becomes the end of the work that
// had been launched by then (launch_order.hpp): a step lasts from the end of one step's work to the end of the next
// one's, a gradient is ready when the kernels before its hook have ended. Without devices, times are the host's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/import/trace/device_time.hpp"
#include "analysis/import/trace/parallelism.hpp"
#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/training_steps.hpp"
#include "analysis/ingest/diagnostics.hpp"
#include "analysis/ingest/shard_trace.hpp"

namespace ddpprof::import {

struct TrainingOptions {
  std::optional<std::int64_t> batch_per_worker;  // none: from the first operation with shapes
  std::optional<std::int64_t> parameter_bytes;   // of all gradients, where messages do not say it
};

struct Note {
  ingest::Severity severity = ingest::Severity::info;
  std::string code;
  std::int64_t count = 1;
  std::string message, advice;
};

// Of tensors on one of a rank's devices, from the first step's begin to the last one's end.
struct DeviceMemory {
  std::int64_t peak_bytes = 0, held_bytes = 0;  // held: at the end
};

struct WindowTime {
  std::string name;  // of the step's annotation, or "all"
  Window window;
  DeviceTime time;
};

struct Training {
  ingest::ShardTrace shard;
  bool on_device = false;
  StepSource source = StepSource::none;
  std::int64_t parameter_bytes = 0;  // 0: not known
  std::int64_t parameter_count = 0;
  std::int64_t batch_per_worker = 0;  // 0: not known
  std::int64_t accumulation = 1;
  std::int64_t steps = 0;           // of the shard
  bool sequences_recorded = false;  // collectives have the numbers that their library gave them
  Parallelism parallelism = Parallelism::data;
  bool parameters_known = false;  // each one's size, rather than their buckets'
  std::vector<WindowTime> device_times;
  std::vector<DeviceMemory> memory;  // the fullest device first, then by number
  std::vector<Note> notes;
};

// Finishes the rank's sorters; the rank is of no further use.
Training conclude_training(RankTrace&, const TrainingOptions&);

}  // namespace ddpprof::import
