// The model behind a prediction: how a profile, a compute scale and a machine become a step's terms.
#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/fit/measured/gradients.hpp"
#include "analysis/predict/other_strategy.hpp"
#include "analysis/predict/predictor.hpp"
#include "analysis/predict/step_link.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/step/ddp_draws.hpp"
#include "simulator/step/ddp_step.hpp"

namespace ddpprof::fit {
namespace {

constexpr int gloo_threads = 2;  // ProcessGroupGloo::Options' default: collectives in flight

std::int64_t total_bytes(const std::vector<Bucket>& buckets) {
  std::int64_t bytes = 0;
  for (const Bucket& bucket : buckets) bytes += bucket.bytes;
  return bytes;
}

// Seconds a byte that copying reduced gradients back took. At N = 1 every bucket is copied after the last gradient; at
// other N only what follows the last collective is seen, which is the last bucket's copy: where it is too slow for any
// memory, something else is done there, and a tiny bucket's rate must not be taken for that of all.
constexpr double slowest_copy_s_per_byte = 5e-9;  // 0.2 GB/s
double copied_s_per_byte(const StepProfile& profile, const std::vector<Bucket>& buckets) {
  if (buckets.empty()) return 0.0;
  const std::int64_t bytes = profile.machine.workers == 1 ? total_bytes(buckets) : buckets.back().bytes;
  return bytes > 0 ? std::min(slowest_copy_s_per_byte, profile.tail_s / static_cast<double>(bytes)) : 0.0;
}

double input_s(const StepProfile& profile, const WhatIf& change) {
  if (change.frees(Term::input)) return 0.0;
  return profile.data_s * batch_ratio(profile, change) * rounds_ratio(profile, change);
}

// A median of differences beside a sum of medians may be slightly negative; beside compute that a change takes away it
// is not.
double gap_s(const StepProfile& profile, double compute_s) { return std::max(profile.gap_s, -0.5 * compute_s); }

// What was measured before the last backward holds the earlier micro-batches.
double micro_forward_s(const StepProfile& profile) {
  const auto rounds = static_cast<double>(profile.accumulation);
  return std::max(0.0, (profile.forward_s - (rounds - 1.0) * profile.backward_s) / rounds);
}

int lanes(const StepProfile& profile) { return profile.machine.backend == "nccl" ? 1 : gloo_threads; }

std::int64_t wire_bytes(const Bucket& bucket, const WhatIf& change) {
  return std::llround(static_cast<double>(bucket.bytes) * change.gradient_bytes);
}

// What computes once a step, relative to the measured one.
double outside_passes(const WhatIf& change) { return change.frees(Term::compute) ? 0.0 : 1.0 / change.compute_speed; }

// Everything before the last backward: the earlier micro-batches are part of it, so that lateness grows over them too.
double forward_s(const WhatIf& change, const StepProfile& profile) {
  if (!change.accumulation) return profile.forward_s;
  const auto rounds = static_cast<double>(*change.accumulation);
  return rounds * micro_forward_s(profile) + (rounds - 1.0) * profile.backward_s;
}

}  // namespace

double rounds_ratio(const StepProfile& profile, const WhatIf& change) {
  return static_cast<double>(change.accumulation.value_or(profile.accumulation)) /
         static_cast<double>(profile.accumulation);
}

double Predictor::lateness(const StepProfile& profile, const Machine& machine) const {
  const double reach_s = profile.forward_s + profile.backward_s;
  if (machine.workers < 2 || !(reach_s > 0.0)) return 0.0;
  // Measured here: the slowest rank's lateness itself. Elsewhere its relative sigma, times Blom's maximum of N.
  if (&profile == measured_on(machine) && profile.machine.workers > 1) return profile.straggler_s / reach_s;
  double sigma = 0.0;
  bool found = false;
  for (const auto& [workers, other] : profiles()) {
    const double other_reach_s = other.forward_s + other.backward_s;
    if (workers < 2 || !(other_reach_s > 0.0)) continue;
    if (found && options_.dedicated) break;  // ascending: dedicated takes the least crowded, else the largest N
    sigma = other.straggler_s / stats::blom_expected_max(workers) / other_reach_s;
    found = true;
  }
  if (!found) sigma = profile.step_jitter;  // one rank's own noise is the least that N ranks differ by
  return sigma * stats::blom_expected_max(machine.workers);
}

std::vector<Bucket> Predictor::buckets_of(const StepProfile& profile) const {
  if (!profile.buckets.empty()) return profile.buckets;
  for (const auto& [workers, other] : profiles()) {
    if (other.buckets.empty() || !(other.backward_s > 0.0)) continue;
    std::vector<Bucket> buckets = other.buckets;
    for (Bucket& bucket : buckets) bucket.ready_s *= profile.backward_s / other.backward_s;
    return buckets;
  }
  return {{profile.parameter_bytes, profile.backward_s}};
}

double Predictor::slowdown() const {
  // Only where the profile was taken without communication: everywhere else the contention is inside its compute.
  const auto one = profiles().find(1);
  if (!options_.dedicated || one == profiles().end() || !(one->second.unwrapped_s > 0.0)) return 1.0;
  double slower = 1.0;
  for (const auto& [workers, profile] : profiles()) {
    if (workers < 2 || !(profile.unwrapped_s > 0.0) || !(profile.overlapped_s > 0.05 * profile.backward_s)) continue;
    // What DDP itself adds at N = 1 (hooks, copies into buckets) is no contention.
    const double wrapper = one->second.compute_s() / one->second.unwrapped_s;
    const double extra_s = profile.compute_s() - profile.unwrapped_s * wrapper;
    const double share = std::clamp(extra_s / profile.overlapped_s, 0.0, 0.5);  // 1 - 1/s
    slower = 1.0 / (1.0 - share);
    break;
  }
  return slower;
}

std::vector<Bucket> Predictor::buckets_under(const StepProfile& profile, const WhatIf& change) const {
  const auto halved = [&](std::int64_t bytes) { return std::llround(static_cast<double>(bytes) * change.model_bytes); };
  if (change.bucket_cap_mb || change.model_bytes != 1.0) {
    for (const auto& [workers, other] : profiles()) {
      const StepProfile& source = profile.gradients.empty() ? other : profile;
      if (source.gradients.empty() || !(source.backward_s > 0.0)) continue;
      std::vector<GradientReady> gradients = source.gradients;
      for (GradientReady& gradient : gradients) gradient.bytes = halved(gradient.bytes);
      const std::optional<double> cap = change.bucket_cap_mb ? change.bucket_cap_mb : source.bucket_cap_mb;
      std::vector<Bucket> buckets =
          bucketed(gradients, step::BucketLimits::from_cap(cap), source.find_unused_parameters);
      for (Bucket& bucket : buckets) bucket.ready_s *= profile.backward_s / source.backward_s;
      return buckets;
    }
    if (change.bucket_cap_mb) throw std::invalid_argument("nothing says when each gradient was ready");
  }
  std::vector<Bucket> buckets = buckets_of(profile);
  for (Bucket& bucket : buckets) bucket.bytes = halved(bucket.bytes);
  return buckets;
}

double Predictor::copy_back_s_per_byte(const StepProfile& profile, const std::vector<Bucket>& buckets) const {
  // The rate comes from N = 1 where it was measured; it is memory-bound work that slows as compute does.
  const auto one = profiles().find(1);
  if (one == profiles().end() || profile.machine.workers == 1) return copied_s_per_byte(profile, buckets);
  const double rate = copied_s_per_byte(one->second, buckets);
  return one->second.compute_s() > 0.0 ? rate * profile.compute_s() / one->second.compute_s() : rate;
}

// Buffers are broadcast along a tree: their time follows log2 N from the nearest N at which there was a broadcast.
double Predictor::buffers_s(const StepProfile& profile, const Machine& machine) const {
  if (machine.workers == 1) return profile.buffers_s;
  const StepProfile* source = profile.machine.workers > 1 ? &profile : nullptr;
  if (!source) {
    const auto next = profiles().upper_bound(1);
    if (next != profiles().end()) source = &next->second;
  }
  if (!source) return 0.0;
  return source->buffers_s * std::log2(static_cast<double>(machine.workers)) /
         std::log2(static_cast<double>(source->machine.workers));
}

// However ranks take turns on a host's cores, all of them have to do their work there: ranks times what one alone
// computes, which keeps one core busy at least, over the cores. DDP's ranks may compute while others wait, so that it
// is their step that cannot be shorter; DataParallel's replicas all compute between the same two copies.
double Predictor::all_work_s(const Case& at) const {
  const auto found = profiles().find(1);
  if (at.machine.device == "cuda" || found == profiles().end() || at.measured) return 0.0;
  const StepProfile& one = found->second;
  double work_s = rounds_ratio(one, at.change) * passes(one, at.change, {}) * (one.forward_s + one.backward_s);
  if (!at.change.frees(Term::compute)) work_s += one.optimizer_s / at.change.compute_speed;
  return static_cast<double>(at.machine.ranks_per_machine()) * work_s / static_cast<double>(at.machine.cores);
}

Terms Predictor::with_all_work(Terms terms, const Case& at, bool dp) {
  if (at.least_step_s == 0.0) return terms;
  terms.compute_s += std::max(0.0, at.least_step_s - (dp ? terms.compute_s : terms.step_s()));
  return terms;
}

Predictor::Case Predictor::case_of(const Machine& machine, const WhatIf& change) const {
  Case at;
  at.machine = machine;
  at.change = change;
  const StepProfile* measured = measured_on(machine);
  at.measured = measured != nullptr;
  at.profile = measured ? measured : &nearest(machine);
  const StepProfile& profile = *at.profile;
  if (!measured && !compute().solution.x.empty())
    at.log_scale = compute().log_compute(machine) - compute().log_compute(profile.machine);
  if (!change.frees(Term::sharing)) at.least_step_s = all_work_s(at);
  if (strategy_ == "dp") return at;
  if (!change.frees(Term::skew)) at.lateness = lateness(profile, machine);
  at.buckets = buckets_under(profile, change);
  at.copy_back_s_per_byte = copy_back_s_per_byte(profile, buckets_of(profile));
  if (machine.workers > 1) at.slowdown = slowdown();
  if (!change.frees(Term::latency)) at.buffers_s = buffers_s(profile, machine);
  return at;
}

Predictor::Case Predictor::case_at(std::int64_t workers, const WhatIf& change) const {
  return case_of(change.frees(Term::sharing) ? compute().dedicated_machine(workers) : machine_for(workers), change);
}

double Predictor::scale(const Case& at, const Draw& draw) const {
  const double noise = draw.profile * at.profile->compute_noise;
  if (!at.log_scale.changes() || draw.compute.empty()) return std::exp(noise);
  return std::exp(noise + at.log_scale.of(draw.compute));
}

Terms Predictor::model(const Case& at, const Draw& draw) const {
  const Draw* const one[] = {&draw};
  if (runs_at_once(at)) return ddp_terms_at_once(at, one).front();
  return strategy_ == "ddp" ? ddp_terms(at, draw) : dp_terms(at, draw);
}

step::DdpStep Predictor::ddp_step(const Case& at, const Draw& draw, double scale) const {
  const StepProfile& profile = *at.profile;
  const WhatIf& change = at.change;
  const Machine& machine = at.machine;
  const double own = passes(at, draw);
  step::DdpStep work;
  work.forward_s = forward_s(at.change, profile) * scale * own;
  work.backward_s = profile.backward_s * scale * own;
  work.optimizer_s = profile.optimizer_s * scale * outside_passes(change);
  work.data_s = input_s(profile, change);
  work.lanes = lanes(profile);
  work.slowdown = at.slowdown;
  const bool reduces = machine.workers > 1 && draw.form;
  collective::Link link, beside;
  if (reduces) {
    link = beside = step_link(*draw.form, machine, draw.link, change);
    beside.latency_s += ddpprof::fit::turn_s(*draw.form, draw.link, change);
  }
  work.buckets.reserve(at.buckets.size());
  for (const Bucket& bucket : at.buckets) {
    step::BucketWork item;
    item.ready_s = change.overlap ? std::min(bucket.ready_s, profile.backward_s) * scale * own : work.backward_s;
    item.copy_back_s = at.copy_back_s_per_byte * scale * static_cast<double>(bucket.bytes) * outside_passes(change);
    if (reduces) {
      const std::int64_t bytes = wire_bytes(bucket, change);
      item.cost = draw.form->form.over(machine.workers, bytes, link);
      item.beside_compute_s = draw.form->form.over(machine.workers, bytes, beside).latency_s - item.cost.latency_s;
    }
    work.buckets.push_back(item);
  }
  work.buffers_s = at.buffers_s;
  if (draw.form && machine.workers > 1) work.buffers_s += slower_broadcast_s(at, draw);
  return work;
}

double Predictor::slower_broadcast_s(const Case& at, const Draw& draw) {
  if (!at.change.latency.changes()) return 0.0;
  const double hop_s = draw.form->hop_s(draw.link, at.machine.workers);
  const double hops = std::ceil(std::log2(static_cast<double>(at.machine.workers)));
  return std::min(at.buffers_s, hops * hop_s) * (at.change.latency.ratio(hop_s) - 1.0);
}

Terms Predictor::ddp_terms(const Case& at, const Draw& draw) const {
  const StepProfile& profile = *at.profile;
  const WhatIf& change = at.change;
  const Machine& machine = at.machine;
  const double scaled = scale(at, draw);
  step::DdpStep work = ddp_step(at, draw, scaled);
  const step::DdpResult even = step::simulate(work);
  work.straggler_s = at.lateness * (work.forward_s + work.backward_s) * draw.straggler;
  const step::DdpResult late = work.straggler_s > 0.0 ? step::simulate(work) : even;

  Terms terms;
  terms.compute_s = work.forward_s + even.backward_s + work.optimizer_s + even.exposed_copy_s;
  terms.exposed_s = even.exposed_s - even.exposed_copy_s;
  terms.skew_s = late.step_s - even.step_s;
  terms.input_s = work.data_s;
  terms.other_s = terms.input_s + gap_s(profile, terms.compute_s);
  if (machine.workers == 1) {
    terms.compute_s += terms.exposed_s;  // one rank: what follows the last gradient is no communication
    terms.exposed_s = 0.0;
    return terms;
  }
  terms.communication_s = even.communication_s;
  const double alone_s = even.cost.total_s();
  if (alone_s > 0.0) {
    terms.latency_s = even.communication_s * even.cost.latency_s / alone_s;
    terms.bandwidth_s = even.communication_s - terms.latency_s;
  }
  if (!change.strategy.empty()) {
    const OtherStrategy other{change.strategy,
                              machine.workers,
                              change.servers,
                              change.accumulation.value_or(profile.accumulation),
                              micro_forward_s(profile) * scaled * passes(at, draw),
                              work.straggler_s,
                              change.gradient_bytes};
    const double bytes = static_cast<double>(total_bytes(at.buckets)) * change.gradient_bytes;
    const OtherOutcome outcome =
        simulate_other(other, work, at.buckets, equivalent_link(machine.workers, bytes, at.buckets.size(), even.cost));
    // ZeRO beside DDP in one simulation: what that simulation leaves out is in the measured step.
    terms.exposed_s = std::max(0.0, (outcome.beside_ddp ? terms.exposed_s : 0.0) + outcome.exposed_s);
    terms.compute_s = std::max(0.0, (outcome.beside_ddp ? terms.compute_s : 0.0) + outcome.compute_s);
    terms.communication_s = std::max(terms.communication_s, terms.exposed_s);
    if (change.strategy.ends_with("ps")) terms.skew_s = 0.0;  // its workers differ in the simulation itself
  }
  return terms;
}

std::vector<Terms> Predictor::ddp_terms_at_once(const Case& at, std::span<const Draw* const> draws) const {
  // Draws of one algorithm go together: its hops are the same for all of them.
  constexpr std::size_t kinds = 3;
  const auto kind_of = [](const Draw* draw) -> std::size_t {
    if (draw->form == nullptr) return 0;
    return draw->form->form.regimes ? 2 : draw->form->form.segmented ? 1 : 0;
  };
  std::array<std::vector<const Draw*>, kinds> some;
  for (const Draw* draw : draws) some[kind_of(draw)].push_back(draw);
  std::array<std::vector<Terms>, kinds> found;
  for (std::size_t kind = 0; kind < kinds; ++kind)
    if (!some[kind].empty()) found[kind] = ddp_terms_of_algorithm(at, some[kind]);
  std::array<std::size_t, kinds> next{};
  std::vector<Terms> all;
  for (const Draw* draw : draws) {
    const std::size_t kind = kind_of(draw);
    all.push_back(found[kind][next[kind]++]);
  }
  return all;
}

std::vector<Terms> Predictor::ddp_terms_of_algorithm(const Case& at, std::span<const Draw* const> draws) const {
  const std::size_t count = draws.size();
  const StepProfile& profile = *at.profile;
  const WhatIf& change = at.change;
  const bool several = at.machine.workers > 1 && draws.front()->form != nullptr;
  std::vector<step::DrawnBucket> buckets;
  for (const Bucket& bucket : at.buckets) {
    const double ready_s = change.overlap ? std::min(bucket.ready_s, profile.backward_s) : profile.backward_s;
    collective::Hops hops;
    if (several) hops = draws.front()->form->form.hops(at.machine.workers, wire_bytes(bucket, change));
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
    const Draw& draw = *draws[i];
    scales[i] = scale(at, draw);
    times.pace[i] = scales[i] * passes(at, draw);
    times.forward_s[i] = usual_forward_s * times.pace[i];
    times.backward_s[i] = profile.backward_s * times.pace[i];
    times.straggler_s[i] = at.lateness * (times.forward_s[i] + times.backward_s[i]) * draw.straggler;
    times.copy_s_per_byte[i] = copy_s_per_byte * scales[i];
    if (!several) continue;
    const collective::Link link = step_link(*draw.form, at.machine, draw.link, change);
    times.hop_s[i] = link.latency_s;
    times.hop_s_per_byte[i] = link.bandwidth_s_per_byte;
    times.reduction_s_per_byte[i] = link.reduction_s_per_byte;
    times.turn_s[i] = ddpprof::fit::turn_s(*draw.form, draw.link, change);
    buffers_s[i] += slower_broadcast_s(at, draw);
  }
  const step::DrawnLink kind{lanes(profile), several && draws.front()->form->form.segmented};
  const step::DrawnResults drawn = step::simulate_draws(buckets, kind, times);
  const double optimizer_s = profile.optimizer_s * outside_passes(change), waited_s = input_s(profile, change);
  std::vector<Terms> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    Terms& terms = all[i];
    terms.compute_s = times.forward_s[i] + drawn.even_backward_s[i] + optimizer_s * scales[i] + drawn.even_copy_s[i];
    terms.exposed_s = buffers_s[i] + (drawn.even_finish_s[i] - drawn.even_backward_s[i]) - drawn.even_copy_s[i];
    terms.skew_s = drawn.late_finish_s[i] - drawn.even_finish_s[i];
    terms.input_s = waited_s;
    terms.other_s = waited_s + gap_s(profile, terms.compute_s);
    if (at.machine.workers == 1) {
      terms.compute_s += terms.exposed_s;
      terms.exposed_s = 0.0;
      continue;
    }
    terms.communication_s = drawn.communication_s[i];
    if (drawn.alone_s[i] > 0.0) terms.latency_s = terms.communication_s * drawn.latency_s[i] / drawn.alone_s[i];
    terms.bandwidth_s = terms.communication_s - terms.latency_s;
  }
  return all;
}

step::DataParallelStep Predictor::copies_step(const Case& at, const Draw& draw) const {
  const WhatIf& change = at.change;
  if (at.machine.workers == 1 || draw.copies.empty() || change.frees(Term::copies)) return {};
  step::DataParallelStep step = models_.copies.step_for(at.machine.workers, draw.copies);
  step.parameter_bytes *= change.model_bytes;
  step.input_bytes *= batch_ratio(*at.profile, change);
  step.output_bytes *= batch_ratio(*at.profile, change);
  for (double* rate : {&step.root_s_per_byte, &step.to_root_s_per_byte})
    if (*rate > 0.0) *rate = 1.0 / change.bandwidth.of(1.0 / *rate);
  step.copy_overhead_s = change.latency.of(step.copy_overhead_s);
  return step;
}

Terms Predictor::dp_terms(const Case& at, const Draw& draw) const {
  const StepProfile& profile = *at.profile;
  const WhatIf& change = at.change;
  const double longer = rounds_ratio(profile, change);
  Terms terms;
  terms.compute_s = (profile.forward_s + profile.backward_s) * scale(at, draw) * passes(at, draw) * longer;
  // The optimizer runs on device 0 alone, whatever N is: only the cores it finds differ, and at that time all are idle.
  terms.compute_s += profile.optimizer_s * outside_passes(change);
  terms.input_s = input_s(profile, change);
  terms.other_s = terms.input_s + profile.buffers_s + gap_s(profile, terms.compute_s);
  const step::DataParallelStep step = copies_step(at, draw);
  if (step.replicas == 1) return terms;
  const step::DataParallelResult copies = step::simulate(step);
  terms.communication_s = copies.copies_s * longer;
  terms.exposed_s = copies.copies_s * longer;
  terms.latency_s = copies.overhead_s * longer;
  terms.bandwidth_s = (copies.copies_s - copies.overhead_s) * longer;
  return terms;
}

}  // namespace ddpprof::fit
