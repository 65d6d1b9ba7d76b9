// Tables about steps, their parts and their scaling.
#pragma once

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

// steps.cpp
Table step_table(const Source&);   // step, throughput, speedup, efficiency, cost of the DDP wrapper
Table time_table(const Source&);   // parts of a step
Table steps_table(const Source&);  // one row per step
Table overlap_table(const Source&);
Table weak_table(const Source&);
Table strong_table(const Source&);

Table phases_table(const Source&);  // phases.cpp

}  // namespace ddpprof::report
