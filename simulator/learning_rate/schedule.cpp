#include "simulator/learning_rate/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace ddpprof::learning_rate {
namespace {

void positive(double value, const char* name) {
  if (!(value > 0.0) || !std::isfinite(value)) {
    throw std::invalid_argument("learning rate: " + std::string(name) + " is " + std::to_string(value) +
                                ", expected more than 0");
  }
}

// The product as a count; above most_counted neither it nor what is made of it would be exact.
std::int64_t counted(double a, double b, const std::string& what) {
  if (a * b > most_counted)
    throw std::invalid_argument(what + " is more than can be counted: expected at most 2^53 = 9007199254740992");
  return std::llround(a * b);
}

std::int64_t divide_rounding_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

}  // namespace

const char* explain(Warning warning) {
  switch (warning) {
    case Warning::adaptive_optimizer:
      return "the linear rule was shown for SGD; for Adam and other adaptive optimizers a square-root rule is usual";
    case Warning::beyond_validated_batch:
      return "the global batch exceeds 8192, the largest for which the linear rule was shown to keep the accuracy";
    case Warning::warmup_exceeds_training:
      return "the warm-up lasts longer than the training: the target rate is never reached";
    case Warning::below_base_batch:
      return "the global batch is below the base batch: the rate is lowered, and no warm-up is needed";
    case Warning::sgd_prefers_linear:
      return "for SGD the square root keeps the update's noise, but trails the linear rule in accuracy at a fixed "
             "number of epochs while that rule holds";
    case Warning::lars_is_for_sgd:
      return "LARS replaces SGD with momentum; the layerwise rule for Adam is LAMB";
    case Warning::lamb_is_for_adam:
      return "LAMB replaces Adam; the layerwise rule for SGD is LARS";
    case Warning::beyond_layerwise_batch:
      return "the global batch exceeds 32768, the largest for which layerwise rates were shown to keep the accuracy";
    case Warning::adascale_is_for_sgd:
      return "AdaScale was shown for SGD; its gain does not apply to Adam";
    case Warning::gain_moves:
      return "AdaScale's gain is assumed constant; in a training it starts near 1 and grows with the gradient's noise";
    case Warning::gain_below_one:
      return "the global batch is below the base batch, and AdaScale was shown for larger batches: with noisy "
             "gradients the gain is below 1, and the training has more steps";
    case Warning::rate_unscaled:
      return "the base rate was tuned for another global batch";
  }
  return "unknown";
}

double Schedule::lr_at(std::int64_t step) const {
  if (step < 0) throw std::invalid_argument("lr_at: step " + std::to_string(step) + ", expected 0 or more");
  if (step >= warmup_steps)
    return target_lr * decay_factor(decay, {step, warmup_steps, total_steps, decay_epoch_steps});
  return start_lr + (target_lr - start_lr) * (static_cast<double>(step) / static_cast<double>(warmup_steps));
}

std::int64_t samples_of_worker(std::int64_t samples, std::int64_t workers, bool drop_last) {
  positive(static_cast<double>(samples), "samples");
  positive(static_cast<double>(workers), "workers");
  const bool dropped = drop_last && samples % workers != 0;
  return divide_rounding_up(std::max<std::int64_t>(0, dropped ? samples - workers : samples), workers);
}

std::int64_t steps_per_epoch(std::int64_t samples, std::int64_t workers, std::int64_t batch_per_worker,
                             bool drop_last) {
  positive(static_cast<double>(batch_per_worker), "batch_per_worker");
  return std::max<std::int64_t>(1,
                                divide_rounding_up(samples_of_worker(samples, workers, drop_last), batch_per_worker));
}

std::int64_t global_batch(std::int64_t workers, std::int64_t samples_per_worker) {
  return counted(static_cast<double>(workers), static_cast<double>(samples_per_worker),
                 "a global batch of " + std::to_string(workers) + " workers with " +
                     std::to_string(samples_per_worker) + " samples each");
}

Schedule unscaled(const Plan& plan) {
  positive(static_cast<double>(plan.base_batch), "base_batch");
  positive(plan.base_lr, "base_lr");
  positive(static_cast<double>(plan.epochs), "epochs");
  if (!(plan.warmup_epochs >= 0.0) || !std::isfinite(plan.warmup_epochs)) {
    throw std::invalid_argument("learning rate: warmup_epochs is " + std::to_string(plan.warmup_epochs) +
                                ", expected 0 or more");
  }
  check(plan.decay);
  Schedule schedule;
  schedule.workers = plan.workers;
  schedule.steps_per_epoch = steps_per_epoch(plan.samples, plan.workers, plan.batch_per_worker, plan.drop_last);
  schedule.global_batch = global_batch(plan.workers, plan.batch_per_worker);
  schedule.kappa = static_cast<double>(schedule.global_batch) / static_cast<double>(plan.base_batch);
  schedule.base_lr = schedule.start_lr = schedule.target_lr = plan.base_lr;
  schedule.epoch_steps = static_cast<double>(schedule.steps_per_epoch);
  const std::int64_t own = samples_of_worker(plan.samples, plan.workers, plan.drop_last);
  if (plan.batches_span_epochs && own > 0)
    schedule.epoch_steps = static_cast<double>(own) / static_cast<double>(plan.batch_per_worker);
  const std::int64_t total = counted(static_cast<double>(plan.epochs), schedule.epoch_steps,
                                     "a training of " + std::to_string(plan.epochs) + " epochs of " +
                                         std::to_string(schedule.steps_per_epoch) + " steps");
  schedule.total_steps = std::max<std::int64_t>(1, total);
  schedule.decay = plan.decay;
  schedule.decay_epoch_steps = schedule.epoch_steps;
  return schedule;
}

Schedule base_schedule(const Plan& plan) {
  Plan base = plan;
  base.workers = 1;
  base.batch_per_worker = plan.base_batch;
  return unscaled(base);
}

std::int64_t warmup_steps_of(const Plan& plan, double epoch_steps) {
  return counted(
      plan.warmup_epochs, epoch_steps,
      "a warm-up of " + std::to_string(plan.warmup_epochs) + " epochs of " + std::to_string(epoch_steps) + " steps");
}

void add_common_warnings(Schedule& schedule) {
  if (schedule.warmup_steps > schedule.total_steps) schedule.warnings.push_back(Warning::warmup_exceeds_training);
  if (schedule.kappa < 1.0) schedule.warnings.push_back(Warning::below_base_batch);
}

}  // namespace ddpprof::learning_rate
