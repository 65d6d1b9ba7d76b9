// Units of a sharded training without annotations (DeepSpeed ZeRO-3, compiled FSDP), from its collectives.
#pragma once

#include <vector>

#include "analysis/import/trace/collectives/collectives.hpp"
#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/training_steps.hpp"

namespace ddpprof::import {

// Returns marks as FSDP's annotations would set them. Each all-gather of a forward is a unit, numbered in order ("unit
// 1", …). An all-gather in a backward belongs to the last unit of that size that the backward has not gathered yet. A
// reduce-scatter belongs to the unit with as many elements; a bucket of several units belongs to the root. Compute is
// not divided: all of it is the root's. Empty if a forward of the steps gathers nothing, or if the forwards differ in
// the sizes that they gather.
std::vector<ShardingMark> unmarked_units(const RankTrace&, const std::vector<const HostStep*>& steps,
                                         const std::vector<Collective>&);

}  // namespace ddpprof::import
