// Reads a table of step times back from the database into which ddpprof import wrote it.
#pragma once

#include <vector>

#include "analysis/fit/table/step_table.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::fit {

// Returns the rows in the order of the table; empty if the database holds no table of step times.
std::vector<StepRow> stored_steps(store::Database& database);

}  // namespace ddpprof::fit
