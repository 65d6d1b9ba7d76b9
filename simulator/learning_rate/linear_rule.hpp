// The linear scaling rule: which learning rate N workers want, and how to climb to it.
//
// lr = kappa lr0 with kappa = global batch / base batch, reached by a gradual warm-up that raises the rate every
// iteration from lr0 to kappa lr0 (Goyal et al. 2017, "Accurate, Large Minibatch SGD", sections 2.1 and 2.2).
#pragma once

#include <cstdint>
#include <vector>

namespace ddpprof::learning_rate {

// The largest global batch for which Goyal et al. found the rule to hold (ResNet-50 on ImageNet, SGD with momentum).
inline constexpr std::int64_t largest_validated_batch = 8192;

// Counts up to here are exact as doubles: 2^53.
inline constexpr double most_counted = 9007199254740992.0;

struct Plan {
  std::int64_t workers = 1;
  std::int64_t batch_per_worker = 1;  // micro-batch times accumulation: samples of one worker in one optimizer step
  std::int64_t base_batch = 1;        // global batch for which base_lr was tuned
  double base_lr = 0.1;
  std::int64_t samples = 1;  // of one epoch over all workers
  bool drop_last = false;    // as DistributedSampler's, when the samples do not divide by the workers
  double warmup_epochs = 5.0;
  std::int64_t epochs = 90;
  bool adaptive_optimizer = false;  // Adam and its kin
};

enum class Doubt {
  adaptive_optimizer,      // the rule was shown for SGD; square-root scaling is the usual choice for Adam
  beyond_validated_batch,  // global batch above largest_validated_batch
  warmup_exceeds_training,
  below_base_batch,    // kappa < 1: the rule lowers the rate; no warm-up is needed
  sgd_prefers_linear,  // of the square-root rule: SGD that takes it needs more epochs for the same accuracy
};
const char* explain(Doubt);

struct Schedule {
  std::int64_t workers = 1;
  std::int64_t global_batch = 1;
  double kappa = 1.0;
  double base_lr = 0.0;    // at iteration 0, when there is a warm-up
  double target_lr = 0.0;  // from iteration warmup_steps on
  std::int64_t steps_per_epoch = 1;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;
  std::vector<Doubt> doubts;

  // base_lr + (target_lr - base_lr) step / warmup_steps during the warm-up, then target_lr. `step` counts optimizer
  // steps from 0.
  double lr_at(std::int64_t step) const;
};

// Samples of one optimizer step over all workers. Throws std::invalid_argument above most_counted.
std::int64_t global_batch(std::int64_t workers, std::int64_t samples_per_worker);

// Optimizer steps of one epoch: DistributedSampler gives each worker ceil(samples / N) samples (with drop_last, when N
// does not divide them, ceil((samples - N) / N)); the loader's last batch may be short.
std::int64_t steps_per_epoch(std::int64_t samples, std::int64_t workers, std::int64_t batch_per_worker, bool drop_last);

// Throws std::invalid_argument on counts, batches or rates that are not positive, a negative warm-up, or a global
// batch, a training or a warm-up above most_counted.
Schedule linear_rule(const Plan&);

}  // namespace ddpprof::learning_rate
