// Tables about the units of a sharded training.
#pragma once

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

Table sharded_units_table(const Source&);     // bytes and memory of each unit
Table sharded_times_table(const Source&);     // compute and communication of each unit
Table sharded_training_table(const Source&);  // sums over all units

}  // namespace ddpprof::report
