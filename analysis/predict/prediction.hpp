// One row of the table of predictions.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/predict/gains.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::fit {

class Predictor;

using Prediction = store::PredictionRow;

// Returns the prediction at N without a change. `why`: gains(predictor, workers). Throws std::invalid_argument with the
// refusal.
Prediction predict(const Predictor&, std::int64_t workers, const std::vector<TermGain>& why);

// Returns true if the interval spans more than a factor of ten.
bool is_wide(const Prediction&);

}  // namespace ddpprof::fit
