// Compares two databases, with the keys in which their scenarios differ. The command line and the window both use it.
#pragma once

#include <functional>

#include "analysis/report/report.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::scenario_queries {

// Returns report::compare with the stored scenarios of both files. If this version cannot read a scenario, only the
// stored texts are compared. `stop` is called before each part of the work; the report is empty if it returns true.
// Throws store::DatabaseError if a file cannot be read.
report::Report compare(store::Database& a, store::Database& b, const std::function<bool()>& stop = {});

}  // namespace ddpprof::scenario_queries
