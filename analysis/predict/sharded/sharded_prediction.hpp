// Predictions of a sharded training (FSDP) at other numbers of ranks, from its measurements with two or more.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/predict/standard_changes.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::fit {

// In the note of a prediction that assumes own cores for each rank, because sharing is not modelled.
inline constexpr std::string_view own_cores_note = "with own cores for each rank";

// The advice that replaces a measurement of links.
inline constexpr const char* give_shard_logs =
    "give nccl-tests logs of both collectives on these links: predict --all-gather LOG --reduce-scatter LOG";

// Returns no prediction and no note if the database has no sharded training. Worker counts that are refused are in a
// note. Throws SQLite::Exception.
//
// The step at N: compute of the largest measured N, the optimizer on a smaller part, collectives with fitted costs, in
// the order of simulator/strategy/sharded_step.hpp, and the wait for the slowest of N ranks. A measured N shows its
// measured median step and parts.
PredictResult predict_sharded(SQLite::Database&, const PredictOptions&);

// Returns the usual changes of a sharded training that can be predicted at this N, the largest gain first. Empty if N
// is refused. The change of the options is ignored. Throws SQLite::Exception.
std::vector<RankedChange> ranked_sharded_changes(SQLite::Database&, const PredictOptions&, std::int64_t workers);

}  // namespace ddpprof::fit
