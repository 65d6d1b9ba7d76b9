// The Monte Carlo simulation behind intervals: draws of all fitted parameters, and the step that each draw gives.
//
// The draws cover the fits' covariances, the competing forms of the all-reduce, the noise of the measured medians
// (between repeats, too), the straggler's spread, how compute grows with the batch, and the drift of the waiting beyond
// the measured N. Every draw has calibrations of its own, so that each draw gives the measured steps at the measured N.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/predict/calibration.hpp"
#include "analysis/predict/step_model/step_model.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::fit {

// Another strategy's step is simulated task by task, so its intervals use the first 40 samples only.
inline constexpr std::size_t samples_of_strategies = 40;

struct Sample {
  StepParameters parameters;
  double drift = 0.0;  // standard normal
  Calibrations calibrations;
};

class MonteCarlo {
 public:
  MonteCarlo(StepModel model, std::vector<Sample> samples) : model_(std::move(model)), samples_(std::move(samples)) {}

  const std::vector<Sample>& samples() const { return samples_; }
  // Returns how many samples an interval under this change uses at most: all of them, or samples_of_strategies if the
  // change is another strategy.
  std::size_t count_for(const WhatIf&) const;
  // Returns the calibrated step of each sample, or of the first `most` samples. `drift_sd`: Drift::sd(), or 0.
  std::vector<double> steps_s(const StepCase&, double drift_sd, std::size_t most = SIZE_MAX) const;

 private:
  StepModel model_;
  std::vector<Sample> samples_;
};

// Draws options.draws samples and calibrates each. The same seed gives the same samples.
MonteCarlo draw_samples(const StepModel&);

// Returns the interval that holds `confidence` of the steps; its low end is at least `least_s`. `mid` is not set.
stats::Interval interval_of(const std::vector<double>& steps_s, double confidence, double least_s);

}  // namespace ddpprof::fit
