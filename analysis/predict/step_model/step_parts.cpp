#include "analysis/predict/step_model/step_parts.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/stats/summary.hpp"
#include "simulator/step/host_pace.hpp"

namespace ddpprof::fit {

double compute_scale(const StepCase& at, const StepParameters& parameters) {
  const double noise = parameters.profile * at.profile->compute_noise;
  if (!at.log_scale.changes() || parameters.compute.empty()) return std::exp(noise);
  return std::exp(noise + at.log_scale.of(parameters.compute));
}

PhaseFactor passes_factor(const StepCase& at, const StepParameters& parameters) {
  return passes_factor(*at.batch_fit, *at.profile, at.change, parameters);
}

PhaseFactor optimizer_factor(const StepCase& at, const StepParameters& parameters) {
  const step::HostPace pace{at.profile->idle_share, parameters.host_power};
  const double device = outside_passes(at.change);
  return {pace.phase(device, at.change.host_factor()), pace.busy(device)};
}

double waits_once_s(const StepCase& at, const StepParameters& parameters) {
  const double more = rounds_ratio(*at.profile, at.change) - 1.0;
  if (!at.ddp || more == 0.0 || !(at.profile->shares.idle_before > 0.0)) return 0.0;
  const double waits_s = at.profile->shares.idle_before * stats::median(at.profile->step_s);
  return (1.0 - parameters.gap_growth) * more * waits_s * compute_scale(at, parameters) *
         passes_factor(at, parameters).whole;
}

void set_compute(Terms& terms, const StepCase& at, const StepParameters& parameters, double passes_s,
                 double optimizer_s, double more_s) {
  const StepProfile& profile = *at.profile;
  const double whole_s = passes_s + optimizer_s + more_s;
  const double once_s = waits_once_s(at, parameters);
  const double inside_s = (passes_s + once_s) * passes_factor(at, parameters).waits_share() - once_s +
                          optimizer_s * optimizer_factor(at, parameters).waits_share();
  // Copies that no kernel hides are not compute, as in measured steps.
  const double copies_s = (whole_s - inside_s) * profile.copies_share / (1.0 - profile.idle_share);
  terms.compute_s = whole_s - inside_s - copies_s;
  // Phases that are longer in sum than the step overlap: their compute is shorter.
  const double gap = gap_s(profile, whole_s);
  terms.compute_s = std::max(0.0, terms.compute_s + std::min(0.0, gap));
  const double gap_growth = gap_factor(profile, at.change, parameters);
  terms.host_gap_s = profile.idle_gap_s * gap_growth * at.change.host_factor();
  terms.host_s = inside_s + terms.host_gap_s;
  terms.input_s = input_s(profile, at.change);
  terms.other_s = copies_s + terms.input_s + (std::max(0.0, gap) - profile.idle_gap_s) * gap_growth;
}

double outside_passes(const WhatIf& change) { return change.frees(Term::compute) ? 0.0 : 1.0 / change.compute_speed; }

double input_s(const StepProfile& profile, const WhatIf& change) {
  if (change.frees(Term::input)) return 0.0;
  return profile.data_s * batch_ratio(profile, change) * rounds_ratio(profile, change);
}

double gap_factor(const StepProfile& profile, const WhatIf& change, const StepParameters& parameters) {
  if (!(profile.gap_s > 0.0)) return 1.0;
  return 1.0 + parameters.gap_growth * (batch_ratio(profile, change) * rounds_ratio(profile, change) - 1.0);
}

double gap_s(const StepProfile& profile, double compute_s) {
  if (profile.gap_s >= 0.0 || !(profile.compute_s() > 0.0)) return std::max(0.0, profile.gap_s);
  return compute_s * std::max(profile.gap_s / profile.compute_s(), -0.5);
}

}  // namespace ddpprof::fit
