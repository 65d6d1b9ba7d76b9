// Finds backward and optimizer of a training without annotations from the threads that launched device work.
//
// PyTorch runs a GPU's backward on a separate thread while the thread that called backward() waits
// (torch/csrc/autograd/engine.cpp). So the launching thread gives the phase.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

// A CUDA call that launched device work.
struct Launch {
  enum class Work : std::uint8_t { compute, optimizer, collective, upload };
  Span time;
  std::int64_t thread = 0;
  Work work = Work::compute;
};

// Returns true for kernels launched by optimizers and little else: "multi_tensor_apply", "…adam…".
bool is_optimizer_kernel(std::string_view name);

struct LaunchedPhases {
  std::vector<Span> backwards;   // in order, on the host's clock
  std::vector<Span> optimizers;  // one after each backward that ends a step; empty spans if the end is unknown
};

// Finds the phases. The main thread is `process` (a process's first thread has the same number). Autograd's thread is
// the other thread with the most launches. If the first thread launches nothing, autograd's thread is the one that
// launches most collectives. A step ends with:
// - a backward that launched collectives, if any backward did (those under no_sync do not);
// - otherwise a backward that is followed by kernels of an optimizer, if there is one;
// - otherwise each backward.
// The optimizer lasts until its last kernel's launch, or else until the next batch is copied to the device. Returns
// nothing if threads launch in parallel (DataParallel's replicas) or if there are fewer than three backwards.
LaunchedPhases phases_of(std::vector<Launch> launches, std::int64_t process);

}  // namespace ddpprof::import
