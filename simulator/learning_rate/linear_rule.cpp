#include "simulator/learning_rate/linear_rule.hpp"

namespace ddpprof::learning_rate {

Schedule linear_rule(const Plan& plan) {
  Schedule schedule = unscaled(plan);
  schedule.target_lr = schedule.kappa * plan.base_lr;
  if (schedule.kappa > 1.0) schedule.warmup_steps = warmup_steps_of(plan, schedule.epoch_steps);
  if (plan.adaptive_optimizer && schedule.kappa != 1.0) schedule.warnings.push_back(Warning::adaptive_optimizer);
  if (schedule.global_batch > largest_validated_batch) schedule.warnings.push_back(Warning::beyond_validated_batch);
  add_common_warnings(schedule);
  return schedule;
}

}  // namespace ddpprof::learning_rate
