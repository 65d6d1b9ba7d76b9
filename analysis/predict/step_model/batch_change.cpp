#include "analysis/predict/step_model/batch_change.hpp"

#include <cmath>

namespace ddpprof::fit {

double batch_ratio(const StepProfile& profile, const WhatIf& change) {
  if (!change.batch_per_worker || profile.batch_per_worker <= 0) return 1.0;
  return static_cast<double>(*change.batch_per_worker) / static_cast<double>(profile.batch_per_worker);
}

double rounds_ratio(const StepProfile& profile, const WhatIf& change) {
  return static_cast<double>(change.accumulation.value_or(profile.accumulation)) /
         static_cast<double>(profile.accumulation);
}

double batch_factor(const BatchFit& fit, const StepProfile& profile, const WhatIf& change,
                    const StepParameters& parameters) {
  const double samples = batch_ratio(profile, change);
  if (samples == 1.0) return 1.0;
  if (!fit.usable)
    return parameters.batch == 0.0 ? samples : samples * std::pow(samples, parameters.batch * batch_exponent_sd);
  const auto from = static_cast<double>(profile.batch_per_worker), to = samples * from;
  const BatchLaw* law = parameters.batch_law;
  const double grown =
      law ? law->growth(to, parameters.batch_own) / law->growth(from, parameters.batch_own) : fit.ratio(from, to);
  return grown * std::exp(parameters.batch * batch_exponent_sd * (fit.beyond(from) + fit.beyond(to)));
}

double passes_factor(const BatchFit& fit, const StepProfile& profile, const WhatIf& change,
                     const StepParameters& parameters) {
  return change.frees(Term::compute) ? 0.0 : batch_factor(fit, profile, change, parameters) / change.compute_speed;
}

}  // namespace ddpprof::fit
