#include "analysis/predict/step_model/step_link.hpp"

#include <algorithm>
#include <cmath>

namespace ddpprof::fit {
namespace {

// Bytes of the case's all-reduces, in the mean.
double mean_bytes(const StepCase& at) {
  return at.buckets.empty() ? 0.0
                            : static_cast<double>(total_bytes(at.buckets)) / static_cast<double>(at.buckets.size());
}

AcrossNodes factors_of(const StepCase& at, const StepParameters& parameters) {
  AcrossNodes factors;
  const FormFit& form = *parameters.form;
  if (at.link_range) factors = across_nodes(form, parameters.link, at.linked, at.link, mean_bytes(at));
  const LinkChange &latency = at.change.latency, &bandwidth = at.change.bandwidth;
  if (latency.value) factors.latency = latency.ratio(form.hop_s(parameters.link, at.linked));
  if (!latency.value) factors.latency *= latency.factor;
  if (bandwidth.value) factors.bandwidth = bandwidth.ratio(1.0 / form.byte_s(parameters.link, at.linked));
  if (!bandwidth.value) factors.bandwidth *= bandwidth.factor;
  return factors;
}

}  // namespace

collective::Link step_link(const StepCase& at, const StepParameters& parameters) {
  const AcrossNodes factors = factors_of(at, parameters);
  collective::Link link = parameters.form->step_link(at.linked, parameters.link, factors.latency, factors.bandwidth);
  if (at.change.frees(Term::latency)) link.latency_s = 0.0;
  if (at.change.frees(Term::bandwidth)) link.bandwidth_s_per_byte = link.reduction_s_per_byte = 0.0;
  return link;
}

double turn_s(const StepCase& at, const StepParameters& parameters) {
  return at.change.frees(Term::latency) ? 0.0 : parameters.form->turn_s(parameters.link, at.linked);
}

double slower_broadcast_s(const StepCase& at, const StepParameters& parameters) {
  if (!at.change.latency.changes() && !at.link_range) return 0.0;
  const LinkChange& latency = at.change.latency;
  const double hop_s = parameters.form->hop_s(parameters.link, at.linked);
  const auto log2_up = [](std::int64_t count) { return std::ceil(std::log2(static_cast<double>(count))); };
  const double between_s = at.link_range && at.buffers_s > 0.0 ? log2_up(at.linked.nodes) * at.link.hop_s : 0.0;
  const double hops_s = std::min(at.buffers_s, log2_up(at.machine.workers) * hop_s);
  if (latency.value) return hops_s * (latency.ratio(hop_s) - 1.0);
  return hops_s * (latency.factor - 1.0) + between_s * latency.factor;
}

}  // namespace ddpprof::fit
