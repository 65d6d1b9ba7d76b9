#include "simulator/learning_rate/rules.hpp"

#include <cmath>
#include <stdexcept>

#include "simulator/learning_rate/large_batch.hpp"
#include "simulator/learning_rate/square_root_rule.hpp"

namespace ddpprof::learning_rate {
namespace {

// Six decimals at most, without trailing zeros, which have no place in a sentence.
std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

Schedule none(const Plan& plan) {
  Schedule schedule = unscaled(plan);
  if (schedule.kappa != 1.0) schedule.warnings.push_back(Warning::rate_unscaled);
  return schedule;
}

Schedule lars(const Plan& plan) {
  Schedule schedule = unscaled(plan);
  schedule.target_lr = schedule.kappa * plan.base_lr;
  if (schedule.kappa > 1.0) schedule.warmup_steps = warmup_steps_of(plan, schedule.epoch_steps);
  if (plan.adaptive_optimizer) schedule.warnings.push_back(Warning::lars_is_for_sgd);
  if (schedule.global_batch > largest_layerwise_batch) schedule.warnings.push_back(Warning::beyond_layerwise_batch);
  add_common_warnings(schedule);
  return schedule;
}

Schedule lamb(const Plan& plan) {
  Schedule schedule = unscaled(plan);
  schedule.target_lr = std::sqrt(schedule.kappa) * plan.base_lr;
  schedule.start_lr = 0.0;
  schedule.warmup_steps = warmup_steps_of(plan, base_schedule(plan).epoch_steps);
  if (!plan.adaptive_optimizer) schedule.warnings.push_back(Warning::lamb_is_for_adam);
  if (schedule.global_batch > largest_layerwise_batch) schedule.warnings.push_back(Warning::beyond_layerwise_batch);
  // Not below_base_batch, which says that no warm-up is needed: this one is for the layerwise rates.
  if (schedule.warmup_steps > schedule.total_steps) schedule.warnings.push_back(Warning::warmup_exceeds_training);
  return schedule;
}

Schedule adascale(const Plan& plan) {
  Schedule schedule = unscaled(plan);
  const double gain = scaling_gain(*plan.noise_scale_samples, static_cast<double>(plan.base_batch),
                                   static_cast<double>(schedule.global_batch));
  schedule.start_lr = schedule.target_lr = gain * plan.base_lr;
  const Schedule base = base_schedule(plan);
  const double total = std::ceil(static_cast<double>(base.total_steps) / gain);
  if (total > most_counted)
    throw std::invalid_argument("AdaScale: a training of " + number(total) +
                                " steps is more than can be counted: expected at most 2^53 = 9007199254740992");
  schedule.total_steps = static_cast<std::int64_t>(total);
  schedule.decay_epoch_steps = base.epoch_steps / gain;
  if (plan.adaptive_optimizer) schedule.warnings.push_back(Warning::adascale_is_for_sgd);
  if (schedule.kappa < 1.0) schedule.warnings.push_back(Warning::gain_below_one);
  if (schedule.kappa > 1.0) schedule.warnings.push_back(Warning::gain_moves);
  return schedule;
}

}  // namespace

const char* to_string(Rule rule) {
  switch (rule) {
    case Rule::none:
      return "none";
    case Rule::linear:
      return "linear";
    case Rule::square_root:
      return "square root";
    case Rule::lars:
      return "LARS";
    case Rule::lamb:
      return "LAMB";
    case Rule::adascale:
      return "AdaScale";
  }
  return "?";
}

const char* word(Rule rule) {
  switch (rule) {
    case Rule::none:
      return "none";
    case Rule::linear:
      return "linear";
    case Rule::square_root:
      return "sqrt";
    case Rule::lars:
      return "lars";
    case Rule::lamb:
      return "lamb";
    case Rule::adascale:
      return "adascale";
  }
  return "?";
}

std::optional<std::string> refusal(Rule rule, const Plan& plan) {
  const double kappa = unscaled(plan).kappa;
  if (rule == Rule::square_root && plan.adaptive_optimizer && !scale_adam(plan.adam, kappa).valid) {
    // The smaller of β₁ and β₂ reaches its limit first. A β₁ of 0 means without momentum, as in RMSprop.
    const bool momentum = plan.adam.beta1 > 0.0, squares = plan.adam.beta2 > 0.0;
    const bool first = momentum && (!squares || plan.adam.beta1 <= plan.adam.beta2);
    const double beta = first ? plan.adam.beta1 : plan.adam.beta2;
    const std::string name = first ? "β₁" : momentum ? "β₂" : "α";
    return std::string("the square-root rule for ") + (momentum ? "Adam" : "RMSprop") +
           " holds below a global batch of " + number(static_cast<double>(plan.base_batch) / (1.0 - beta)) +
           " samples: κ (1 − " + name + ") must be below 1 (κ = " + number(kappa) +
           ", the ratio of the global batches); a rate tuned at a larger batch holds further";
  }
  if (rule == Rule::adascale && !plan.noise_scale_samples)
    return "AdaScale needs the gradient noise scale, which is not known: measure it, or give it";
  return std::nullopt;
}

Schedule schedule_of(Rule rule, const Plan& plan) {
  if (const auto why = refusal(rule, plan)) throw std::invalid_argument(*why);
  switch (rule) {
    case Rule::none:
      return none(plan);
    case Rule::linear:
      return linear_rule(plan);
    case Rule::square_root:
      return square_root_rule(plan);
    case Rule::lars:
      return lars(plan);
    case Rule::lamb:
      return lamb(plan);
    case Rule::adascale:
      return adascale(plan);
  }
  throw std::invalid_argument("schedule_of: no such rule");
}

}  // namespace ddpprof::learning_rate
