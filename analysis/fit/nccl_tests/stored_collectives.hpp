// Reads sweeps of nccl-tests back from a database that has nothing else.
#pragma once

#include <vector>

#include "analysis/fit/nccl_tests/collective_series.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::fit {

// Returns the sweeps with NCCL on two ranks or more, with the times out of place. Empty if the database has
// measurements of trainings: predictions are then about their steps. Throws store::DatabaseError.
std::vector<CollectiveRun> stored_collectives(store::Database& database);

}  // namespace ddpprof::fit
