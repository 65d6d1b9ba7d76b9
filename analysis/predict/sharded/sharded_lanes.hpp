// The simulated step behind a prediction of a sharded training (FSDP), as lanes.
#pragma once

#include <cstdint>

#include "analysis/predict/step_model/options.hpp"
#include "simulator/step/lanes.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::fit {

// The first lane has the compute of the units and what the rank waits for, then the parts of the step that are not
// simulated: optimizer, waiting for slower ranks, the rest. The other lanes have the all-gathers and reduce-scatters.
// Throws std::invalid_argument with the reason if the file has no sharded training, or if this N cannot be predicted.
step::StepLanes simulated_sharded_lanes(SQLite::Database&, std::int64_t workers, const PredictOptions& = {});

}  // namespace ddpprof::fit
