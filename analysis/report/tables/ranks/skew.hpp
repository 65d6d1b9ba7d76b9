// Ranks compared with each other, for all configurations.
#pragma once

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

Table skew_table(const Source&);
Table straggler_table(
    const Source&);  // ranks that make the others wait more than expected by chance, with the evidence
Table last_starters_table(
    const Source&);  // the rank that starts each collective last, if the clocks are precise enough (last_starters.cpp)
Table clocks_table(const Source&);

}  // namespace ddpprof::report
