// Tables about steps: whole ones, their parts, their scaling.
#pragma once

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

// steps.cpp
Table step_table(const Source&);   // step, throughput, speedup, efficiency, the wrapper's cost
Table time_table(const Source&);   // where the step goes
Table steps_table(const Source&);  // one row a step
Table overlap_table(const Source&);
Table weak_table(const Source&);
Table strong_table(const Source&);

Table phases_table(const Source&);  // phases.cpp

}  // namespace ddpprof::report
