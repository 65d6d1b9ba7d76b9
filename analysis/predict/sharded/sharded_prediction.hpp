// Predictions of a sharded training (FSDP) at other numbers of ranks, from its measurements with two or more.
#pragma once

#include "analysis/predict/predict.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::fit {

// Returns no prediction and no note if the database has no sharded training. Worker counts that are refused are in a
// note. Throws SQLite::Exception.
//
// The step at N: compute of the largest measured N, the optimizer on a smaller part, collectives with fitted costs, in
// the order of simulator/strategy/sharded_step.hpp, and the wait for the slowest of N ranks. A measured N shows its
// measured median step and parts.
PredictResult predict_sharded(SQLite::Database&, const PredictOptions&);

}  // namespace ddpprof::fit
