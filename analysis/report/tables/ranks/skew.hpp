// Ranks against each other, over all configurations.
#pragma once

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

Table skew_table(const Source&);
Table straggler_table(const Source&);      // who makes the others wait beyond chance, with the evidence
Table last_starters_table(const Source&);  // of each collective, where the clocks tell (last_starters.cpp)
Table clocks_table(const Source&);

}  // namespace ddpprof::report
