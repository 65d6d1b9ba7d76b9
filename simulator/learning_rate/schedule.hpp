// Input and output of a learning-rate rule: the plan of a training, and its rate at every step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/learning_rate/decay.hpp"

namespace ddpprof::learning_rate {

// The largest global batch for which Goyal et al. found the linear rule to hold (ResNet-50 on ImageNet, SGD with
// momentum).
inline constexpr std::int64_t largest_validated_batch = 8192;
// … and for which layerwise rates were shown to keep the accuracy: LARS with ResNet-50 (You et al. 2017), LAMB with
// BERT (You et al. 2020).
inline constexpr std::int64_t largest_layerwise_batch = 32768;

// Counts up to here are exact as doubles: 2^53.
inline constexpr double most_counted = 9007199254740992.0;

struct AdamSettings {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

struct Plan {
  std::int64_t workers = 1;
  std::int64_t batch_per_worker = 1;  // micro-batch times accumulation: samples of one worker in one optimizer step
  std::int64_t base_batch = 1;        // global batch for which base_lr was tuned
  double base_lr = 0.1;
  std::int64_t samples = 1;  // of one epoch over all workers
  bool drop_last = false;    // as DistributedSampler's, when the samples do not divide by the workers
  // Batches go on from one epoch into the next, all of one size, as the worker's do; else an epoch's last one may be
  // short and is a step all the same, as PyTorch's DataLoader has it.
  bool batches_span_epochs = false;
  double warmup_epochs = 5.0;
  std::int64_t epochs = 90;
  bool adaptive_optimizer = false;  // Adam and its kin
  AdamSettings adam;                // of the base batch; the square-root rule scales them
  Decay decay;
  std::optional<double> noise_scale_samples;  // the gradient's, phi = tr(Sigma) / |G|^2: AdaScale needs it
};

enum class Warning {
  adaptive_optimizer,      // the rule was shown for SGD; square-root scaling is the usual choice for Adam
  beyond_validated_batch,  // global batch above largest_validated_batch
  warmup_exceeds_training,
  below_base_batch,    // kappa < 1: the rule lowers the rate; no warm-up is needed
  sgd_prefers_linear,  // of the square-root rule: SGD that takes it needs more epochs for the same accuracy
  lars_is_for_sgd,
  lamb_is_for_adam,
  beyond_layerwise_batch,  // global batch above largest_layerwise_batch
  adascale_is_for_sgd,
  gain_moves,      // AdaScale's gain is assumed constant
  gain_below_one,  // AdaScale below the base batch: beyond what it was shown for
  rate_unscaled,   // the base rate at another batch than it was tuned for
};
const char* explain(Warning);

struct Schedule {
  std::int64_t workers = 1;
  std::int64_t global_batch = 1;
  double kappa = 1.0;
  double base_lr = 0.0;
  double start_lr = 0.0;             // at iteration 0, when there is a warm-up
  double target_lr = 0.0;            // at iteration warmup_steps
  std::int64_t steps_per_epoch = 1;  // that an epoch takes part in
  double epoch_steps = 1.0;          // of one pass over the samples; a fraction where batches span epochs
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;
  Decay decay;
  double decay_epoch_steps = 1.0;  // steps that the decay takes for one epoch: AdaScale's cover more than a batch does
  std::vector<Warning> warnings;

  // start_lr + (target_lr - start_lr) step / warmup_steps during the warm-up, then target_lr times the decay's factor.
  // `step` counts optimizer steps from 0.
  double lr_at(std::int64_t step) const;
};

// Samples of one optimizer step over all workers. Throws std::invalid_argument above most_counted.
std::int64_t global_batch(std::int64_t workers, std::int64_t samples_per_worker);

// Returns the samples of one worker in one epoch: DistributedSampler gives each worker ceil(samples / N) samples (with
// drop_last, if N does not divide them, ceil((samples - N) / N), which may be 0).
std::int64_t samples_of_worker(std::int64_t samples, std::int64_t workers, bool drop_last);

// Optimizer steps of one epoch, whose last batch may be short; 1 or more.
std::int64_t steps_per_epoch(std::int64_t samples, std::int64_t workers, std::int64_t batch_per_worker, bool drop_last);

// The plan's steps and batches with the base rate, decaying: what every rule starts from. No warm-up, no warnings.
// Throws std::invalid_argument on counts, batches or rates that are not positive, a negative warm-up, a decay that
// cannot be, or a global batch or a training above most_counted.
Schedule unscaled(const Plan&);

// The same at the plan's base batch, on one worker. Throws as unscaled.
Schedule base_schedule(const Plan&);

// Steps of the plan's warm-up in epochs of `epoch_steps` steps, to the nearest whole one. Throws std::invalid_argument
// above most_counted.
std::int64_t warmup_steps_of(const Plan&, double epoch_steps);

// Those that hold for any rule that scales the rate: warmup_exceeds_training, below_base_batch.
void add_common_warnings(Schedule&);

}  // namespace ddpprof::learning_rate
