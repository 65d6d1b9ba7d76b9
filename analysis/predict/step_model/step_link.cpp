#include "analysis/predict/step_model/step_link.hpp"

namespace ddpprof::fit {

collective::Link step_link(const FormFit& form, const Machine& machine, std::span<const double> values,
                           const WhatIf& change) {
  double latency = 1.0, bandwidth = 1.0;
  if (change.latency.changes()) latency = change.latency.ratio(form.hop_s(values, machine));
  if (change.bandwidth.changes()) bandwidth = change.bandwidth.ratio(1.0 / form.byte_s(values, machine));
  collective::Link link = form.step_link(machine, values, latency, bandwidth);
  if (change.frees(Term::latency)) link.latency_s = 0.0;
  if (change.frees(Term::bandwidth)) link.bandwidth_s_per_byte = link.reduction_s_per_byte = 0.0;
  return link;
}

double turn_s(const FormFit& form, std::span<const double> values, const WhatIf& change) {
  return change.frees(Term::latency) ? 0.0 : form.turn_s(values);
}

}  // namespace ddpprof::fit
