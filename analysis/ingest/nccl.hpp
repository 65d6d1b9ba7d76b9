// Gives collectives that ran on a GPU their start and end: those of the NCCL kernels that they launched.
#pragma once

#include "analysis/ingest/shard_trace.hpp"

namespace ddpprof::ingest {

// A kernel's name says nothing about which collective it is. Its correlation id leads to the call that launched it, and
// the last `collective_launch` before that call is its collective. A collective that has a start from its backend's
// thread is left as it is; kernels without a recorded call, before the first launch, or in a
// launched CUDA graph are not placed.
void place_nccl_kernels(ShardTrace&);

// What NCCL's profiler plugin told of collectives: each of its operations is of the last `collective_launch` before it,
// if it does the same to as many bytes; one that does not is counted as a disagreement, and nothing is taken from it. A
// collective without a start gets that of its kernel's channels.
void place_nccl_operations(ShardTrace&);

}  // namespace ddpprof::ingest
