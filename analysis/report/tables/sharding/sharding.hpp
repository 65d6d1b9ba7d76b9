// Tables about the units of a sharded training.
#pragma once

#include <span>

#include "analysis/predict/sharded/sharded_memory.hpp"
#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

Table sharded_units_table(const Source&);     // bytes and memory of each unit
Table sharded_times_table(const Source&);     // compute and communication of each unit
Table sharded_training_table(const Source&);  // sums over all units
// Predicted memory of a rank.
Table sharded_memory_table(std::span<const fit::ShardedMemory>, const fit::WhatIf&);

}  // namespace ddpprof::report
