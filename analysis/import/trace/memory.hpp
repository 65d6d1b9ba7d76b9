// Computes the memory of a rank's tensors on each of its devices during the steps.
#pragma once

#include <vector>

#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

// Covers the whole trace if it has no step. The memory before the first event of the first step is that of the device's
// last event before it. The rank's sorter must be finished.
std::vector<DeviceMemory> memory_of(const RankTrace&, const std::vector<HostStep>&);

}  // namespace ddpprof::import
