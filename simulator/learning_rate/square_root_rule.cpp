#include "simulator/learning_rate/square_root_rule.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace ddpprof::learning_rate {

Schedule square_root_rule(const Plan& plan) {
  Schedule schedule = linear_rule(plan);
  schedule.target_lr = std::sqrt(schedule.kappa) * plan.base_lr;
  std::erase(schedule.warnings, Warning::adaptive_optimizer);
  std::erase(schedule.warnings, Warning::beyond_validated_batch);
  if (!plan.adaptive_optimizer && schedule.kappa > 1.0) schedule.warnings.push_back(Warning::sgd_prefers_linear);
  return schedule;
}

ScaledAdam scale_adam(const AdamSettings& base, double kappa) {
  if (!(kappa > 0.0) || !std::isfinite(kappa)) {
    throw std::invalid_argument("scale_adam: kappa is " + std::to_string(kappa) + ", expected more than 0");
  }
  for (const double beta : {base.beta1, base.beta2}) {
    if (!(beta >= 0.0 && beta < 1.0)) {
      throw std::invalid_argument("scale_adam: beta is " + std::to_string(beta) + ", expected 0 to below 1");
    }
  }
  if (!(base.epsilon >= 0.0)) throw std::invalid_argument("scale_adam: epsilon is below 0");
  const auto scaled_beta = [&](double beta) { return beta > 0.0 ? 1.0 - kappa * (1.0 - beta) : 0.0; };
  ScaledAdam scaled;
  scaled.settings = {scaled_beta(base.beta1), scaled_beta(base.beta2), base.epsilon / std::sqrt(kappa)};
  // Not kappa (1 - beta) < 1: 10 (1 - 0.9) is just below 1 in doubles, and a beta of 2e-16 is not a valid beta.
  constexpr double no_average = 1e-9;
  const auto averages = [&](double beta, double at_kappa) { return beta == 0.0 || at_kappa > no_average; };
  scaled.valid =
      kappa <= 1.0 || (averages(base.beta1, scaled.settings.beta1) && averages(base.beta2, scaled.settings.beta2));
  return scaled;
}

}  // namespace ddpprof::learning_rate
