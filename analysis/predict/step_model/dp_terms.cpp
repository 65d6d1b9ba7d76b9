#include "analysis/predict/step_model/dp_terms.hpp"

#include "analysis/predict/step_model/batch_change.hpp"
#include "analysis/predict/step_model/step_parts.hpp"

namespace ddpprof::fit {

step::DataParallelStep copies_step(const StepCase& at, const StepParameters& parameters) {
  const WhatIf& change = at.change;
  if (at.machine.workers == 1 || parameters.copies.empty() || change.frees(Term::copies)) return {};
  step::DataParallelStep step = at.copy_fit->step_for(at.machine.workers, parameters.copies);
  step.parameter_bytes *= change.model_bytes;
  step.input_bytes *= batch_ratio(*at.profile, change);
  step.output_bytes *= batch_ratio(*at.profile, change);
  for (double* rate : {&step.root_s_per_byte, &step.to_root_s_per_byte})
    if (*rate > 0.0) *rate = 1.0 / change.bandwidth.of(1.0 / *rate);
  step.copy_overhead_s = change.latency.of(step.copy_overhead_s);
  return step;
}

Terms dp_terms(const StepCase& at, const StepParameters& parameters) {
  const StepProfile& profile = *at.profile;
  const WhatIf& change = at.change;
  const double longer = rounds_ratio(profile, change);
  Terms terms;
  // The optimizer runs on device 0 alone at every N, and all cores are idle at that time.
  set_compute(terms, at, parameters,
              (profile.forward_s + profile.backward_s) * compute_scale(at, parameters) *
                  passes_factor(at, parameters).whole * longer,
              profile.optimizer_s * optimizer_factor(at, parameters).whole, 0.0);
  terms.other_s += profile.buffers_s;
  const step::DataParallelStep step = copies_step(at, parameters);
  if (step.replicas == 1) return terms;
  const step::DataParallelResult copies = step::simulate(step);
  terms.communication_s = copies.copies_s * longer;
  terms.exposed_s = copies.copies_s * longer;
  terms.latency_s = copies.overhead_s * longer;
  terms.bandwidth_s = (copies.copies_s - copies.overhead_s) * longer;
  return terms;
}

}  // namespace ddpprof::fit
