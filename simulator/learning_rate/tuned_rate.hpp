// Learning rates that tuned trainings use at a larger batch: base rate * kappa^p, kappa = batch / base batch.
//
// The exponents of MLPerf's tuned trainings differ between benchmarks: the published rules have p = 1 (linear, SGD) and
// p = 1/2 (square root, Adam). scripts/learn-large-batch computes them; learned_target.hpp has them. LARS and LAMB,
// with a rate for each layer, have their published rules only: too few benchmarks use them.
#pragma once

#include "simulator/stats/interval.hpp"

namespace ddpprof::learning_rate {

// `mid` is the published rule's exponent, unless another one was closer to the tuned rates of benchmarks that it was
// not learned from. `low` and `high` contain all tuned rates and the published rule.
struct TunedExponents {
  double low = 0.0, mid = 1.0, high = 1.0;
};

// Throws std::invalid_argument if a value is not above 0 and finite.
stats::Interval tuned_rate(const TunedExponents&, double base_lr, double kappa);

}  // namespace ddpprof::learning_rate
