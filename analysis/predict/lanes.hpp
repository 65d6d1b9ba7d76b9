// The step that a prediction rests on, as lanes: what the simulated ranks or replicas do when, at any N.
//
// The simulation's times are stretched to the prediction's terms, compute by one factor and exposed communication by
// another, as calibration does: the first lane's kinds add up to compute, exposed, skew and other of the model's terms
// and its end is Predictor's step. What they leave of that step is a segment of its own, "not modelled". At a measured
// N the step is the measured one, and its split still the model's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/predict/predictor.hpp"
#include "simulator/step/data_parallel.hpp"
#include "simulator/step/ddp_step.hpp"
#include "simulator/step/lanes.hpp"

namespace ddpprof::fit {

struct SimulatedStep {
  std::string strategy;
  std::int64_t workers = 1;
  Terms terms;          // of the model, calibrated
  double step_s = 0.0;  // Predictor::central's
  double gap_s = 0.0;   // outside of every phase, as simulated; below 0 where medians of parts add up to more
  std::int64_t accumulation = 1;
  // ddp: a median rank's
  step::DdpStep work;
  step::DdpResult result;
  std::vector<Bucket> buckets;
  // dp
  step::DataParallelStep copying;  // with data, forward, backward and optimizer
  step::DataParallelResult copies;
  double buffers_s = 0.0;
};

step::StepLanes simulated_lanes(const SimulatedStep&);

// Throws std::invalid_argument saying why where the strategy cannot be predicted at so many workers, or where what the
// ranks exchange was not fitted.
step::StepLanes simulated_lanes(const Predictor&, std::int64_t workers);
step::StepLanes simulated_lanes(const Models&, const std::string& strategy, std::int64_t workers,
                                const PredictOptions& = {});

}  // namespace ddpprof::fit
