// Sets start and end of collectives on a GPU from their NCCL kernels.
#pragma once

#include "analysis/ingest/shard_trace.hpp"

namespace ddpprof::ingest {

// A kernel's name does not identify its collective. Its correlation id identifies the call that launched it, and the
// last `collective_launch` before that call is its collective. A collective that has a start from its backend's thread
// is not changed. Kernels without a recorded call, before the first launch, or in a launched CUDA graph are not
// assigned.
void place_nccl_kernels(ShardTrace&);

// Adds the data of NCCL's profiler plugin. Each operation belongs to the last `collective_launch` before it, if
// function and bytes are equal. Otherwise it is counted as a disagreement and ignored. A collective without a start
// gets the start and end of its kernel's channels.
void place_nccl_operations(ShardTrace&);

}  // namespace ddpprof::ingest
