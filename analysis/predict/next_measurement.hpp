// The one additional measurement that would narrow a prediction's interval most.
//
// Each sample behind an interval is a possible machine that agrees with the measured data. A further measurement would
// read a different value on each of them. The covariance of that value X with the step asked about Y gives the variance
// of the step after the measurement: var(Y) - cov(Y, X) var(X)^-1 cov(X, Y), as for normal variables. The drift beyond
// the data starts anew at the added N.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/predict/step_model/what_if.hpp"

namespace ddpprof::fit {

class Predictor;

struct NextMeasurement {
  std::int64_t workers = 1;           // N to measure at
  bool bench_comm = false;            // all-reduces alone; otherwise the strategy
  double now = 0.0;                   // half the interval's width as a share of the step, before the measurement
  double then = 0.0;                  // the same after it
  std::int64_t batch_per_worker = 0;  // with this batch; 0: the measured one
};

// Returns the candidate that narrows the interval most, or a cheaper one with nearly as much gain. `candidates` are of
// one interval, the cheapest first. Empty if none would narrow the interval by a fifth.
std::optional<NextMeasurement> best_measurement(const std::vector<NextMeasurement>& candidates);

// Returns the best of the possible measurements: this strategy at another N up to eight times the largest, or a sweep
// of all-reduces. Empty if none would narrow the interval by a fifth.
std::optional<NextMeasurement> next_measurement(const Predictor&, std::int64_t workers);

// Returns how much a run with the change's batch would narrow the interval under the change. Empty if the change has
// the measured batch, if its batch was measured, or if the run would not narrow the interval by a fifth. Throws
// std::invalid_argument if the change cannot be applied at this N.
std::optional<NextMeasurement> next_batch(const Predictor&, std::int64_t workers, const WhatIf&);

}  // namespace ddpprof::fit
