#include "analysis/predict/step_model/ddp_terms.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/predict/step_model/batch_change.hpp"
#include "analysis/predict/step_model/other_strategy.hpp"
#include "analysis/predict/step_model/step_link.hpp"
#include "analysis/predict/step_model/step_parts.hpp"
#include "simulator/step/ddp_draws.hpp"

namespace ddpprof::fit {
namespace {

// Forward of one micro-batch. The time before the last backward includes the earlier micro-batches.
double micro_forward_s(const StepProfile& profile) {
  const auto rounds = static_cast<double>(profile.accumulation);
  return std::max(0.0, (profile.forward_s - (rounds - 1.0) * profile.backward_s) / rounds);
}

// Everything before the last backward, earlier micro-batches included, so that lateness grows over them too.
double forward_s(const WhatIf& change, const StepProfile& profile) {
  if (!change.accumulation) return profile.forward_s;
  const auto rounds = static_cast<double>(*change.accumulation);
  return rounds * micro_forward_s(profile) + (rounds - 1.0) * profile.backward_s;
}

std::int64_t wire_bytes(const Bucket& bucket, const WhatIf& change) {
  return std::llround(static_cast<double>(bucket.bytes) * change.gradient_bytes);
}

// Exposed time of the collectives besides the last backward's buckets: the measured time and the growth of the fitted
// all-reduces of their sizes. The fit gives the growth and not the whole, because the measured time of small messages
// is mostly the cost of a call, which does not grow with N. Without known sizes the messages count as the mean bucket.
collective::Cost others_cost(const StepCase& at, const StepParameters& parameters) {
  if (at.others == nullptr || !(at.others->others_s > 0.0) || at.machine.workers < 2) return {};
  const StepProfile& profile = *at.others;
  const double rounds = rounds_ratio(profile, at.change);
  if (!parameters.form) return {profile.others_s * rounds, 0.0, 0.0};
  std::vector<OtherMessage> messages = profile.others;
  if (messages.empty())
    messages.push_back(
        {at.buckets.empty() ? 4 : total_bytes(at.buckets) / static_cast<std::int64_t>(at.buckets.size()), 1.0});
  const collective::Link measured_link = parameters.form->step_link(profile.machine, parameters.link);
  const collective::Link link = step_link(at, parameters);
  collective::Cost measured, now;
  for (const OtherMessage& message : messages) {
    measured = measured + message.count * parameters.form->form.over(profile.machine, message.bytes, measured_link);
    now = now + message.count * parameters.form->form.over(at.linked, message.bytes, link);
  }
  // If compute hides a part of them, that part of the growth is assumed to be hidden as well.
  const double exposed = measured.total_s() > 0.0 ? std::min(1.0, profile.others_s / measured.total_s()) : 0.0;
  const double whole_s = rounds * std::max(0.0, profile.others_s + exposed * (now.total_s() - measured.total_s()));
  if (!(now.total_s() > 0.0)) return {whole_s, 0.0, 0.0};
  return (whole_s / now.total_s()) * now;
}

// The others' part of the terms beside exposed_s.
void add_others(Terms& terms, const StepCase& at, const collective::Cost& cost) {
  if (at.machine.workers < 2 || at.others == nullptr) return;
  terms.skew_s += at.others->others_wait_s;
  terms.communication_s += cost.total_s();
  terms.latency_s += cost.latency_s;
  terms.bandwidth_s += cost.bandwidth_s + cost.reduction_s;
}

}  // namespace

step::DdpStep ddp_step(const StepCase& at, const StepParameters& parameters, double scale) {
  const StepProfile& profile = *at.profile;
  const WhatIf& change = at.change;
  const Machine& machine = at.machine;
  const double own = passes_factor(at, parameters).whole;
  step::DdpStep work;
  work.forward_s = forward_s(at.change, profile) * scale * own - waits_once_s(at, parameters);
  work.backward_s = profile.backward_s * scale * own;
  work.optimizer_s = profile.optimizer_s * scale * optimizer_factor(at, parameters).whole;
  work.data_s = input_s(profile, change);
  work.lanes = lanes_of(profile);
  work.slowdown = at.slowdown;
  const bool reduces = machine.workers > 1 && parameters.form;
  collective::Link link, beside;
  if (reduces) {
    link = beside = step_link(at, parameters);
    beside.latency_s += fit::turn_s(at, parameters);
  }
  work.buckets.reserve(at.buckets.size());
  for (const Bucket& bucket : at.buckets) {
    step::BucketWork item;
    item.ready_s = change.overlap ? std::min(bucket.ready_s, profile.backward_s) * scale * own : work.backward_s;
    item.copy_back_s = at.copy_back_s_per_byte * scale * static_cast<double>(bucket.bytes) * outside_passes(change);
    if (reduces) {
      const std::int64_t bytes = wire_bytes(bucket, change);
      item.cost = parameters.form->form.over(at.linked, bytes, link);
      item.beside_compute_s = parameters.form->form.over(at.linked, bytes, beside).latency_s - item.cost.latency_s;
    }
    work.buckets.push_back(item);
  }
  work.buffers_s = at.buffers_s;
  if (parameters.form && machine.workers > 1) work.buffers_s += slower_broadcast_s(at, parameters);
  work.buffers_s += others_cost(at, parameters).total_s();
  return work;
}

Terms ddp_terms(const StepCase& at, const StepParameters& parameters) {
  const StepProfile& profile = *at.profile;
  const WhatIf& change = at.change;
  const Machine& machine = at.machine;
  const double scaled = compute_scale(at, parameters);
  step::DdpStep work = ddp_step(at, parameters, scaled);
  const step::DdpResult even = step::simulate(work);
  work.straggler_s = at.lateness * (work.forward_s + work.backward_s) * parameters.straggler;
  const step::DdpResult late = work.straggler_s > 0.0 ? step::simulate(work) : even;

  Terms terms;
  set_compute(terms, at, parameters, work.forward_s + even.backward_s, work.optimizer_s, even.exposed_copy_s);
  terms.exposed_s = even.exposed_s - even.exposed_copy_s;
  terms.skew_s = late.step_s - even.step_s;
  if (machine.workers == 1) {
    terms.compute_s += terms.exposed_s;  // one rank: the time after the last gradient is compute
    terms.exposed_s = 0.0;
    terms.other_s += profile.calls_alone_s;
    return terms;
  }
  terms.communication_s = even.communication_s;
  const double alone_s = even.cost.total_s();
  if (alone_s > 0.0) {
    terms.latency_s = even.communication_s * even.cost.latency_s / alone_s;
    terms.bandwidth_s = even.communication_s - terms.latency_s;
  }
  add_others(terms, at, others_cost(at, parameters));
  if (!change.strategy.empty()) {
    const OtherStrategy other{change.strategy,
                              machine.workers,
                              change.servers,
                              change.accumulation.value_or(profile.accumulation),
                              micro_forward_s(profile) * scaled * passes_factor(at, parameters).whole,
                              work.straggler_s,
                              change.gradient_bytes};
    const double bytes = static_cast<double>(total_bytes(at.buckets)) * change.gradient_bytes;
    const OtherOutcome outcome =
        simulate_other(other, work, at.buckets, equivalent_link(machine.workers, bytes, at.buckets.size(), even.cost));
    // ZeRO is simulated beside DDP, and the difference is added: the measured step has the parts that the simulation
    // leaves out.
    terms.exposed_s = std::max(0.0, (outcome.beside_ddp ? terms.exposed_s : 0.0) + outcome.exposed_s);
    if (outcome.beside_ddp) {
      // The optimizer's launches of the parameters that other ranks update are saved, too.
      const double waits_s = optimizer_factor(at, parameters).waits_share() * outcome.compute_s;
      terms.host_s = std::max(terms.host_gap_s, terms.host_s + waits_s);
      terms.compute_s = std::max(0.0, terms.compute_s + outcome.compute_s - waits_s);
    } else {
      terms.compute_s = std::max(0.0, outcome.compute_s - terms.host_inside_s());
    }
    terms.communication_s = std::max(terms.communication_s, terms.exposed_s);
    if (change.strategy.ends_with("ps"))
      terms.skew_s = 0.0;  // the simulation itself includes the differences of the workers
  }
  return terms;
}

namespace {

// The parameter sets must share one all-reduce algorithm: its hops are then the same for all of them.
std::vector<Terms> ddp_terms_of_algorithm(const StepCase& at, std::span<const StepParameters* const> all_parameters) {
  const std::size_t count = all_parameters.size();
  const StepProfile& profile = *at.profile;
  const WhatIf& change = at.change;
  const bool several = at.machine.workers > 1 && all_parameters.front()->form != nullptr;
  std::vector<step::DrawnBucket> buckets;
  for (const Bucket& bucket : at.buckets) {
    const double ready_s = change.overlap ? std::min(bucket.ready_s, profile.backward_s) : profile.backward_s;
    collective::Hops hops;
    if (several) hops = all_parameters.front()->form->form.hops(at.linked, wire_bytes(bucket, change));
    buckets.push_back({ready_s, hops.count, hops.bytes, static_cast<double>(bucket.bytes)});
  }
  step::DrawnTimes times;
  std::vector<double> scales(count), buffers_s(count, at.buffers_s);
  for (std::vector<double>* values :
       {&times.pace, &times.forward_s, &times.backward_s, &times.straggler_s, &times.hop_s, &times.hop_s_per_byte,
        &times.reduction_s_per_byte, &times.turn_s, &times.copy_s_per_byte}) {
    values->resize(count);
  }
  const double usual_forward_s = forward_s(change, profile);
  const double copy_s_per_byte = at.copy_back_s_per_byte * outside_passes(change);
  for (std::size_t i = 0; i < count; ++i) {
    const StepParameters& parameters = *all_parameters[i];
    scales[i] = compute_scale(at, parameters);
    times.pace[i] = scales[i] * passes_factor(at, parameters).whole;
    times.forward_s[i] = usual_forward_s * times.pace[i] - waits_once_s(at, parameters);
    times.backward_s[i] = profile.backward_s * times.pace[i];
    times.straggler_s[i] = at.lateness * (times.forward_s[i] + times.backward_s[i]) * parameters.straggler;
    times.copy_s_per_byte[i] = copy_s_per_byte * scales[i];
    if (!several) continue;
    const collective::Link link = step_link(at, parameters);
    times.hop_s[i] = link.latency_s;
    times.hop_s_per_byte[i] = link.bandwidth_s_per_byte;
    times.reduction_s_per_byte[i] = link.reduction_s_per_byte;
    times.turn_s[i] = fit::turn_s(at, parameters);
    buffers_s[i] += slower_broadcast_s(at, parameters);
  }
  std::vector<collective::Cost> of_others(count);
  for (std::size_t i = 0; i < count; ++i) {
    of_others[i] = others_cost(at, *all_parameters[i]);
    buffers_s[i] += of_others[i].total_s();
  }
  const step::DrawnLink kind{lanes_of(profile),
                             several && all_parameters.front()->form->form.used_on(at.linked).segmented};
  const step::DrawnResults drawn = step::simulate_draws(buckets, kind, times);
  std::vector<Terms> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    Terms& terms = all[i];
    const StepParameters& parameters = *all_parameters[i];
    set_compute(terms, at, parameters, times.forward_s[i] + drawn.even_backward_s[i],
                profile.optimizer_s * optimizer_factor(at, parameters).whole * scales[i], drawn.even_copy_s[i]);
    terms.exposed_s = buffers_s[i] + (drawn.even_finish_s[i] - drawn.even_backward_s[i]) - drawn.even_copy_s[i];
    terms.skew_s = drawn.late_finish_s[i] - drawn.even_finish_s[i];
    if (at.machine.workers == 1) {
      terms.compute_s += terms.exposed_s;
      terms.exposed_s = 0.0;
      terms.other_s += profile.calls_alone_s;
      continue;
    }
    terms.communication_s = drawn.communication_s[i];
    if (drawn.alone_s[i] > 0.0) terms.latency_s = terms.communication_s * drawn.latency_s[i] / drawn.alone_s[i];
    terms.bandwidth_s = terms.communication_s - terms.latency_s;
    add_others(terms, at, of_others[i]);
  }
  return all;
}

}  // namespace

bool runs_at_once(const StepCase& at) { return at.ddp && at.change.strategy.empty() && at.slowdown == 1.0; }

std::vector<Terms> ddp_terms_at_once(const StepCase& at, std::span<const StepParameters* const> all_parameters) {
  constexpr std::size_t kinds = 3;
  const auto kind_of = [](const StepParameters* parameters) -> std::size_t {
    if (parameters->form == nullptr) return 0;
    return parameters->form->form.regimes ? 2 : parameters->form->form.segmented ? 1 : 0;
  };
  std::array<std::vector<const StepParameters*>, kinds> some;
  for (const StepParameters* parameters : all_parameters) some[kind_of(parameters)].push_back(parameters);
  std::array<std::vector<Terms>, kinds> found;
  for (std::size_t kind = 0; kind < kinds; ++kind)
    if (!some[kind].empty()) found[kind] = ddp_terms_of_algorithm(at, some[kind]);
  std::array<std::size_t, kinds> next{};
  std::vector<Terms> all;
  for (const StepParameters* parameters : all_parameters) {
    const std::size_t kind = kind_of(parameters);
    all.push_back(found[kind][next[kind]++]);
  }
  return all;
}

}  // namespace ddpprof::fit
