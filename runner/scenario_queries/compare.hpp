// Two databases compared, with the keys in which their scenarios differ: the same for every front end.
#pragma once

#include <functional>

#include "analysis/report/report.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::scenario_queries {

// report::compare with both files' stored scenarios. Of a scenario that this program does not understand only
// whether the stored texts are the same is compared, and a difference says so. Throws store::DatabaseError when a file
// cannot be read. Empty once `stop`, which is asked before each part of the work, says so.
report::Report compare(store::Database& a, store::Database& b, const std::function<bool()>& stop = {});

}  // namespace ddpprof::scenario_queries
