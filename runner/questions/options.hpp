// What a scenario asks to be concluded from its measurements: the options of predictions and of learning rates, the
// same for every front end.
#pragma once

#include "analysis/predict/predict.hpp"
#include "runner/scenario/scenario.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::questions {

fit::PredictOptions predict_options(const scenario::Scenario&);
// An epoch of files whose number of samples the scenario leaves open has as many as the database's measurements found;
// throws fit::NotSupported when none did. For the rule adascale with the noise scale that they measured.
fit::LearningRateOptions learning_rate_options(const scenario::Scenario&, store::Database&);

}  // namespace ddpprof::questions
