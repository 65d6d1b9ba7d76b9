// What a scenario asks to be concluded from its measurements: the options of fits, predictions and learning rates.
#pragma once

#include "analysis/fit/predict.hpp"
#include "runner/scenario/scenario.hpp"

namespace ddpprof::cli {

fit::PredictOptions predict_options(const scenario::Scenario& scenario);
fit::LearningRateOptions learning_rate_options(const scenario::Scenario& scenario);

}  // namespace ddpprof::cli
