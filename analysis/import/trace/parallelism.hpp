// Detects how the processes of a trace divide the work, from the collectives in each phase of its steps. Only data
// parallel training is predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/import/trace/collectives/collectives.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

enum class Parallelism {
  data,         // each rank has the whole model; also a single process
  one_process,  // DataParallel: one process drives several devices
  sharded,      // FSDP, ZeRO: parameters gathered, gradients scattered
  model,        // pipeline, tensor or expert parallel, or several kinds at once
  apart,        // one of several ranks, without any exchange
  unrecorded,   // the times of the communication were not recorded (unrecorded.hpp)
  inference,    // a forward alone: the trace has neither a backward nor an optimizer's step
};

struct Recognised {
  Parallelism kind = Parallelism::data;
  std::string why;       // the evidence, with counts
  std::string unsure{};  // for `data`: the kind it could be instead if unrecorded sizes were large; empty: no doubt
  // For `model`: the ranks that process different samples, because ranks that divide a model process the same ones.
  // None: all ranks. 0: unknown.
  std::optional<std::int64_t> replicas{};
  // For `sharded`: the units are annotated, so the training is predicted from two or more ranks.
  bool units_known = false;
};

// Returns `data` unless there is evidence of another kind. The evidence is one of the following, at least once per
// step:
// - annotations of a wrapper (with sends, all-to-alls, or all-reduces in forward of at least 0.01 of the scattered
// bytes
//   it is `model`), or a statement of ddpprof's Python module (job_facts.hpp);
// - reduce-scatters in forward;
// - all-gathers and reduce-scatters;
// - all-gathers or broadcasts after backward with at least 0.4 of the gradients' bytes;
// - sends and receives in backward, or in forward with at least 0.001 of the gradients' bytes;
// - all-to-alls;
// - all-reduces in forward with at least a tenth of the bytes of backward;
// - gradients reduced within groups smaller than the world, or several computing devices without any reduced gradients.
// Small exchanges (a loss's mean, batch normalisation's sums) are not evidence. If sizes were not recorded, durations
// count from a quarter of the gradients' duration on, if they exceed a latency; otherwise the rank stays data parallel
// and `unsure` describes the exchanges. `collectives` must be marked (gradient_group.hpp).
//
// Ranks that all-reduce or reduce-scatter activations in forward process the same samples, so together they have one
// replica of the model. The number of replicas is the size of the largest group that reduces gradients and contains at
// most one of these ranks; without such a group it is 1. Ranks that divide sequences by all-to-alls have one replica
// for each group. If such a group has all ranks and nothing shows whether they divide sequences or experts, the number
// is unknown. So is the number of samples per step of pipeline stages: a micro-batch may send several messages.
Recognised recognise(const RankTrace&, const std::vector<HostStep>&, const std::vector<Collective>& collectives,
                     std::int64_t computing_devices);

// The diagnostic: its code (not_data_parallel, sharded_data_parallel or no_backward), message and advice. Not for
// `data`.
struct ParallelismNote {
  std::string code, message, advice;
};
ParallelismNote note_of(const Recognised&);

}  // namespace ddpprof::import
