// What a rank's tensors took of each of its devices during the steps.
#pragma once

#include <vector>

#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

// Of the whole trace where it has no step. What a device held before the first step's first event counts from its last
// event before that. The rank's sorter is finished.
std::vector<DeviceMemory> memory_of(const RankTrace&, const std::vector<HostStep>&);

}  // namespace ddpprof::import
