// Gives collectives that ran on a GPU their start and end: those of the NCCL kernels that they launched.
#pragma once

#include "analysis/ingest/shard_trace.hpp"

namespace ddpprof::ingest {

// A kernel's name says nothing about which collective it is. Its correlation id leads to the call that launched it, and
// the last `collective_launch` before that call is its collective. A collective that has a start from its backend's
// thread is left as it is; kernels without a recorded call, before the first launch, or in a
// launched CUDA graph are not placed.
void place_nccl_kernels(ShardTrace&);

}  // namespace ddpprof::ingest
