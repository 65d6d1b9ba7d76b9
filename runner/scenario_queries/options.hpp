// The options of predictions and of learning rates that a scenario asks for. The command line and the window both use
// them.
#pragma once

#include "analysis/predict/predict.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::scenario_queries {

fit::PredictOptions predict_options(const scenario::Scenario&);
// If the scenario leaves the number of samples open, the number that the measurements found. For the rule adascale:
// with the measured noise scale. Throws fit::NotSupported if the number of samples is unknown.
fit::LearningRateOptions learning_rate_options(const scenario::Scenario&, store::Database&);

}  // namespace ddpprof::scenario_queries
