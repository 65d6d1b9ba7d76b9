// The one additional measurement that would narrow the interval of a sharded training's (FSDP's) prediction most.
//
// A candidate is added to the job with the times that are predicted for it, and the model computes the interval anew.
// So the width is the one that the program will show if the measurement agrees with the prediction.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/predict/next_measurement.hpp"
#include "analysis/predict/sharded/sharded_model.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::fit {

// Returns the interval of the step at an N that was not measured. `mid` is the predicted step, and inside.
stats::Interval sharded_interval(const ShardedModel&, std::int64_t workers, const PredictOptions&);

// Returns the best of the possible measurements: this training at another N up to eight times the largest, or, on GPUs,
// logs of all-gathers and reduce-scatters on the measured links. Empty if none would narrow the interval by a fifth, if
// N was measured or is refused, or if the shards have replicas (HSDP).
std::optional<NextMeasurement> next_sharded_measurement(SQLite::Database&, const ShardedModels&, std::int64_t workers,
                                                        const PredictOptions&);

}  // namespace ddpprof::fit
