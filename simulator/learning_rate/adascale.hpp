// AdaScale, step by step: the gain of a larger batch from the gradients so far, and the progress of the training.
//
// A step at the scale kappa = B / B0 takes the rate r lr(tau) and counts for r steps of the base batch: tau grows by r,
// lr is the base batch's schedule, and the training ends once tau reaches its steps (Johnson et al. 2020, "AdaScale
// SGD: A User-Friendly Algorithm for Distributed Training", algorithm 1). The gain is
//   r = (sigma^2 + mu^2) / (sigma^2 / kappa + mu^2), from 1 to kappa, sigma^2 = tr(Sigma) / B0, mu^2 = |G|^2,
// of averages (appendix B.3): each step's estimates, never below 0, are averaged over all steps so far up to
// 1 / (1 - theta) of them, then with a weight of theta on what was before; theta = max(1 - S / 1000, 0) with the S
// gradients that a step's is the mean of. Where the paper takes 1e-6 for the least sigma^2, which means something
// beside gradients of one size only, it is 0 here; a gradient without noise, or none at all, has a gain of 1. The paper
// has kappa >= 1; below, the same formula's gain is below 1.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/learning_rate/noise_scale.hpp"
#include "simulator/learning_rate/schedule.hpp"

namespace ddpprof::learning_rate {

// The state from which a training continues.
struct AdaScaleState {
  std::int64_t steps = 0;       // whose gradients are in the average
  double base_steps = 0.0;      // tau: steps of the base batch that all steps so far were worth
  std::int64_t base_batch = 0;  // that one, in samples; 0: the plan's
  NoiseSample average;
  bool operator==(const AdaScaleState&) const = default;
};

class AdaScale {
 public:
  // `parts`: S, the number of gradients whose differences show the noise: ranks, or one rank's micro-batches. A single
  // part gives no estimate, which is allowed if the batch is the base batch. Throws std::invalid_argument as unscaled
  // does, and for fewer parts than one, a single part with another batch, or an invalid state. A state of another base
  // batch is converted by its samples.
  AdaScale(const Plan&, std::int64_t parts, const AdaScaleState& = {});

  // Returns the rate of the next step, whose gradients are `sample`, and counts that step. Without a sample, or if its
  // estimate is not finite, the gain does not change.
  double step(const std::optional<NoiseSample>& sample);

  double gain() const;  // of the last step; before the first: of the state, 1 where it has no gradients
  const AdaScaleState& state() const { return state_; }
  std::int64_t base_training_steps() const { return base_.total_steps; }
  bool done() const;  // the training is over: its last step was taken

 private:
  Schedule base_;  // the base batch's, after its warm-up: AdaScale has none
  double base_batch_ = 1.0, batch_ = 1.0;
  double keep_ = 0.0;  // theta
  AdaScaleState state_;
};

}  // namespace ddpprof::learning_rate
