// The simulated step behind a prediction, as lanes: the activities of the simulated ranks or replicas over time, at any
// N.
//
// The simulated times are stretched to the prediction's terms as in calibration, compute by one factor and exposed
// communication by another. The kinds of the first lane add up to the model's compute, exposed, skew, host and other
// terms, and it ends at Predictor's step. Phases include the time in which the device waits for launches. The rest of
// that step is a segment "not modelled". At a measured N the step is the measured one, and its parts are the model's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/predict/predictor.hpp"
#include "analysis/predict/simulated_step.hpp"
#include "simulator/step/lanes.hpp"

namespace ddpprof::fit {

step::StepLanes simulated_lanes(const SimulatedStep&);

// The lanes of simulated_step; throws as it does.
step::StepLanes simulated_lanes(const Predictor&, std::int64_t workers);
step::StepLanes simulated_lanes(std::shared_ptr<const Models>, const std::string& strategy, std::int64_t workers,
                                const PredictOptions& = {});

}  // namespace ddpprof::fit
