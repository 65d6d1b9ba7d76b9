// How the processes of a trace share the work, by the collectives that each phase of its steps called: which of them
// may be predicted as data parallel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/import/trace/collectives.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

enum class Parallelism {
  data,         // each rank a whole model; or one process alone, the base of that
  one_process,  // DataParallel: one process drives several devices
  sharded,      // FSDP, ZeRO: parameters gathered, gradients scattered
  model,        // pipeline, tensor or expert parallel, or several kinds at once
  apart,        // one of several ranks that exchanged nothing
};

struct Recognised {
  Parallelism kind = Parallelism::data;
  std::string why;       // what it was recognised by, with counts
  std::string unsure{};  // of `data`: what would make it another kind, if unrecorded sizes were large; empty: nothing
};

// "in 3 steps: forward 24 all-gathers; backward 24 all-gathers, 24 reduce-scatters", of the host's calls where they
// were recorded, as a backend may carry one operation out as another, else of the runs; of the whole trace where it has
// no step.
std::string collectives_by_phase(const RankTrace&, const std::vector<HostStep>&, const std::vector<Collective>&);

// Departs from data parallel on evidence alone, of which each comes at least once a step: annotations of a wrapper;
// reduce-scatters in forward; all-gathers and reduce-scatters; all-gathers or broadcasts after backward that carry 0.4
// of the gradients' bytes and more; sends and receives in backward, or in forward with a thousandth of those bytes;
// all-to-alls; all-reduces in forward that carry a tenth of backward's; and gradients that are reduced within groups
// smaller than the world, or several computing devices and no gradients reduced. Small exchanges (a loss's mean, batch
// normalisation's sums) are none. Where sizes were not recorded, times tell, from a quarter of the gradients' on and if
// they exceed a latency; else the rank stays data parallel and `unsure` says what was seen. `collectives` are marked
// (gradient_group.hpp).
Recognised recognise(const RankTrace&, const std::vector<HostStep>&, const std::vector<Collective>& collectives,
                     std::int64_t computing_devices);

// The diagnostic's code: not_data_parallel or sharded_data_parallel; what is to be said and done. Not of `data`.
struct ParallelismNote {
  std::string code, message, advice;
};
ParallelismNote note_of(const Recognised&);

}  // namespace ddpprof::import
