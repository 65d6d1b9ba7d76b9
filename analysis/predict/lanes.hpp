// The step that a prediction rests on, as lanes: what the simulated ranks or replicas do when, at any N.
//
// The simulation's times are stretched to the prediction's terms, compute by one factor and exposed communication by
// another, as calibration does: the first lane's kinds add up to compute, exposed, skew and other of the model's terms
// and its end is Predictor's step. What they leave of that step is a segment of its own, "not modelled". At a measured
// N the step is the measured one, and its split still the model's.
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
