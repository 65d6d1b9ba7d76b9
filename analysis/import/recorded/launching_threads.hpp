// Backward and optimizer of a training that nobody annotated, from which thread launched what on the device.
//
// PyTorch runs a GPU's backward on a thread of its own while the thread that called backward() waits (torch/csrc/
// autograd/engine.cpp): whoever launches tells the phase.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

// A call of CUDA's that put work on the device.
struct Launch {
  enum class Work : std::uint8_t { compute, optimizer, collective, upload };
  Span time;
  std::int64_t thread = 0;
  Work work = Work::compute;
};

// "multi_tensor_apply", "…adam…": kernels that optimizers launch, and few others.
bool is_optimizer_kernel(std::string_view name);

struct LaunchedPhases {
  std::vector<Span> backwards;   // in order, on the host's clock
  std::vector<Span> optimizers;  // one behind each backward that ends a step; empty spans where its end is not known
};

// The main thread is `process` (a process's first thread has its number), and autograd's the one of the others that
// launches most. Where the first thread launches nothing, autograd's is the one that launches most collectives. A step
// ends with a backward that launched collectives where any does (no_sync's do not), else with one that optimizer's
// kernels follow, else with each. The optimizer lasts until its last kernel's launch, else until the next batch is
// copied to the device. Nothing is concluded where threads launch side by side (DataParallel's replicas) or fewer than
// three backwards are seen.
LaunchedPhases phases_of(std::vector<Launch> launches, std::int64_t process);

}  // namespace ddpprof::import
