// The one simulation behind the best-fit terms of a prediction, with its buckets and copies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/predict/predictor.hpp"
#include "simulator/step/data_parallel.hpp"
#include "simulator/step/ddp_step.hpp"

namespace ddpprof::fit {

struct SimulatedStep {
  std::string strategy;
  std::int64_t workers = 1;
  Terms terms;          // of the model, calibrated; before as_measured()
  double step_s = 0.0;  // of Predictor::central
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

// Returns the simulation behind the model's terms, before calibration. Throws std::invalid_argument if the strategy
// cannot be predicted at this N, or if what the ranks exchange was not fitted.
SimulatedStep simulated_step(const Predictor&, std::int64_t workers);

}  // namespace ddpprof::fit
