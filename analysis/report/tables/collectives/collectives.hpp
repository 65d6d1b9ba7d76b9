// Tables about collectives.
#pragma once

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

Table collectives_table(
    const Source&);               // each gradient bucket's all-reduce, and the other collectives (collectives.cpp)
Table comm_table(const Source&);  // bench-comm (comm.cpp)

}  // namespace ddpprof::report
