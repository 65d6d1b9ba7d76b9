// The report's first table: in words, per strategy, what was measured, what more workers would do, what binds.
#pragma once

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

Table answer_table(const Source&);

}  // namespace ddpprof::report
