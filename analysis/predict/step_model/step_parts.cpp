#include "analysis/predict/step_model/step_parts.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/predict/step_model/batch_change.hpp"

namespace ddpprof::fit {

double compute_scale(const StepCase& at, const StepParameters& parameters) {
  const double noise = parameters.profile * at.profile->compute_noise;
  if (!at.log_scale.changes() || parameters.compute.empty()) return std::exp(noise);
  return std::exp(noise + at.log_scale.of(parameters.compute));
}

double passes_factor(const StepCase& at, const StepParameters& parameters) {
  return passes_factor(*at.batch_fit, *at.profile, at.change, parameters);
}

double outside_passes(const WhatIf& change) { return change.frees(Term::compute) ? 0.0 : 1.0 / change.compute_speed; }

double input_s(const StepProfile& profile, const WhatIf& change) {
  if (change.frees(Term::input)) return 0.0;
  return profile.data_s * batch_ratio(profile, change) * rounds_ratio(profile, change);
}

double gap_s(const StepProfile& profile, double compute_s) { return std::max(profile.gap_s, -0.5 * compute_s); }

}  // namespace ddpprof::fit
