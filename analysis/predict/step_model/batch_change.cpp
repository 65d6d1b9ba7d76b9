#include "analysis/predict/step_model/batch_change.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/step/host_pace.hpp"

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

PhaseFactor passes_factor(const BatchFit& fit, const StepProfile& profile, const WhatIf& change,
                          const StepParameters& parameters) {
  const step::HostPace pace{profile.idle_share, parameters.host_power};
  const double grown = batch_factor(fit, profile, change, parameters);
  const double speed = change.frees(Term::compute) ? 0.0 : 1.0 / change.compute_speed;
  if (fit.usable && grown != 1.0 && grown > 0.0 && profile.idle_share > 0.0) {
    // The law gives the whole phase. Its kernels shrink at most in proportion to the batch.
    const double kernels = std::max(pace.device_for(grown), std::min(grown, batch_ratio(profile, change)));
    const step::HostPace at_batch{1.0 - std::min(1.0, pace.busy(kernels) / grown), parameters.host_power};
    return {grown * at_batch.phase(speed, change.host_factor()), grown * at_batch.busy(speed)};
  }
  const double device = change.frees(Term::compute) ? 0.0 : grown / change.compute_speed;
  return {pace.phase(device, change.host_factor()), pace.busy(device)};
}

}  // namespace ddpprof::fit
