// Finds host events that a trace has twice, as tools that join traces write them.
#pragma once

#include <cstdint>

#include "analysis/import/trace/rank_trace.hpp"

namespace ddpprof::import {

// Removes the copies of steps, gradients, collectives and annotations of FSDP that have the times, the thread and the
// ids of an earlier one. Returns their number. Kernels of the same correlation are left to SliceStore.
std::int64_t drop_repeated_events(RankTrace&);

}  // namespace ddpprof::import
