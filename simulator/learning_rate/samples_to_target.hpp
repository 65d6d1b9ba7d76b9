// Samples that a training takes to its target at a batch, predicted from trainings at other batches.
//
//   E(B) = E_min (1 + B / B_crit)      (McCandlish et al. 2018, "An Empirical Model of Large-Batch Training",
//   equation 2.7)
//
// E_min and B_crit are not known. ln E_min may have any value. ln(B_crit / largest measured batch) has a prior:
// Student's t with 2 degrees of freedom, because the measured batches may be far below the critical batch. ln(samples)
// departs from the law by a random walk over log2(B) (settings that no longer suit the batch) and by an independent
// scatter of each batch (seeds, and trainings that end at an evaluation). The size of both is only known roughly, so
// the predicted ln(samples) has Student's t distribution. learned_target.hpp has the constants;
// scripts/learn-large-batch computes them, and tests/validation/large_batch judges them on benchmarks that they were
// not learned from.
#pragma once

#include <span>
#include <vector>

#include "simulator/stats/interval.hpp"

namespace ddpprof::learning_rate {

// A training that reached its target with this global batch.
struct BatchSamples {
  double batch = 0.0;
  double samples = 0.0;  // or epochs: the prediction has the same unit
};

struct TargetConstants {
  double critical_centre = 0.0, critical_scale = 1.0;  // of ln(B_crit / largest measured batch)
  double scatter = 0.01;                               // standard deviation of ln(samples) of one batch
  double drift = 0.05;                                 // of the walk, for one doubling of the batch
  double freedom = 2.0;                                // degrees of freedom with which their size is known
  double widening = 1.0;                               // of the interval, on either side of the median
};

// The samples at one batch that the measured batches imply, for each critical batch of a grid, before the prior.
class SamplesLaw {
 public:
  // Throws std::invalid_argument without measured batches, or if a value is not above 0 and finite.
  SamplesLaw(std::span<const BatchSamples> measured, double batch, double scatter, double drift);

  // Density of ln(samples) at the batch.
  double density(double log_samples, const TargetConstants&) const;
  // Interval of the samples, widened. `confidence` in (0, 1).
  stats::Interval interval(const TargetConstants&, double confidence) const;

 private:
  struct Candidate {
    double log_critical = 0.0;  // ln(B_crit / largest measured batch)
    double misfit = 0.0;        // squared distance of the measured batches from the law, in units of their covariance
    double mean = 0.0;          // of ln(samples) at the batch
  };
  struct Component {
    double weight = 0.0, mean = 0.0, scale = 0.0;
  };
  std::vector<Component> components(const TargetConstants&) const;

  std::vector<Candidate> candidates_;
  double degrees_ = 0.0;   // measured batches less 1
  double variance_ = 0.0;  // of ln(samples) at the batch
};

// Interval of the samples to the target at `batch`. Throws std::invalid_argument as SamplesLaw does.
stats::Interval samples_to_target(std::span<const BatchSamples> measured, double batch, const TargetConstants&,
                                  double confidence);

}  // namespace ddpprof::learning_rate
