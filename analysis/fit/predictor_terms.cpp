// The model behind a prediction: how a profile, a compute scale and a machine become a step's terms.
#include <algorithm>
#include <cmath>

#include "analysis/fit/gradients.hpp"
#include "analysis/fit/other_strategy.hpp"
#include "analysis/fit/predictor.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/step/ddp_step.hpp"

namespace ddpprof::fit {
namespace {

constexpr double straggler_spread = 0.3;   // of the logarithm: the noise itself is known to about a third
constexpr double batch_exponent_sd = 0.1;  // compute grows with the batch to the power of 1, within so much
constexpr int gloo_threads = 2;            // ProcessGroupGloo::Options' default: collectives in flight

std::int64_t total_bytes(const std::vector<Bucket>& buckets) {
  std::int64_t bytes = 0;
  for (const Bucket& bucket : buckets) bytes += bucket.bytes;
  return bytes;
}

// Seconds a byte that copying reduced gradients back took. At N = 1 every bucket is copied after the last gradient; at
// other N only what follows the last collective is seen, which is the last bucket's copy.
double copied_s_per_byte(const StepProfile& profile, const std::vector<Bucket>& buckets) {
  if (buckets.empty()) return 0.0;
  const std::int64_t bytes = profile.machine.workers == 1 ? total_bytes(buckets) : buckets.back().bytes;
  return bytes > 0 ? profile.tail_s / static_cast<double>(bytes) : 0.0;
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

collective::Cost without(collective::Cost cost, const WhatIf& change) {
  if (change.frees(Term::latency)) cost.latency_s = 0.0;
  if (change.frees(Term::bandwidth)) cost.bandwidth_s = cost.reduction_s = 0.0;
  return cost;
}

}  // namespace

double batch_ratio(const StepProfile& profile, const WhatIf& change) {
  if (!change.batch_per_worker || profile.batch_per_worker <= 0) return 1.0;
  return static_cast<double>(*change.batch_per_worker) / static_cast<double>(profile.batch_per_worker);
}

double rounds_ratio(const StepProfile& profile, const WhatIf& change) {
  return static_cast<double>(change.accumulation.value_or(profile.accumulation)) /
         static_cast<double>(profile.accumulation);
}

double Predictor::straggler_s(const StepProfile& profile, double scale, const Machine& machine, double normal) const {
  if (machine.workers < 2) return 0.0;
  const double reach_s = (profile.forward_s + profile.backward_s) * scale;
  const double spread = std::exp(normal * straggler_spread);
  // Measured here: the slowest rank's lateness itself. Elsewhere its relative sigma, times Blom's maximum of N.
  if (&profile == measured_on(machine) && profile.machine.workers > 1) return profile.straggler_s * scale * spread;
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
  return sigma * reach_s * stats::blom_expected_max(machine.workers) * spread;
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

double Predictor::passes(const StepProfile& profile, const Draw& draw, const WhatIf& change) const {
  if (change.frees(Term::compute)) return 0.0;
  return std::pow(batch_ratio(profile, change), 1.0 + draw.batch * batch_exponent_sd) / change.compute_speed;
}

step::DdpStep Predictor::ddp_step(const StepProfile& profile, const std::vector<Bucket>& buckets, double scale,
                                  const Machine& machine, const Draw& draw, const WhatIf& change) const {
  const double copy_rate = copy_back_s_per_byte(profile, buckets_of(profile)) * scale;
  const double own = passes(profile, draw, change);
  const double others = change.frees(Term::compute) ? 0.0 : 1.0 / change.compute_speed;
  const auto rounds = static_cast<double>(change.accumulation.value_or(profile.accumulation));
  step::DdpStep work;
  // The earlier micro-batches are part of the forward, so that lateness grows over them too.
  work.forward_s = profile.forward_s;
  if (change.accumulation) work.forward_s = rounds * micro_forward_s(profile) + (rounds - 1.0) * profile.backward_s;
  work.forward_s *= scale * own;
  work.backward_s = profile.backward_s * scale * own;
  work.optimizer_s = profile.optimizer_s * scale * others;
  work.data_s = input_s(profile, change);
  work.lanes = profile.machine.backend == "nccl" ? 1 : gloo_threads;
  work.slowdown = machine.workers > 1 ? slowdown() : 1.0;
  std::vector<double> link;
  if (draw.form) link = draw.form->with_link(draw.link, change.bandwidth, change.latency);
  for (const Bucket& bucket : buckets) {
    step::BucketWork item;
    item.ready_s = change.overlap ? std::min(bucket.ready_s, profile.backward_s) * scale * own : work.backward_s;
    item.copy_back_s = copy_rate * static_cast<double>(bucket.bytes) * others;
    if (machine.workers > 1 && draw.form) {
      const auto bytes =
          static_cast<std::int64_t>(std::llround(static_cast<double>(bucket.bytes) * change.gradient_bytes));
      item.cost = without(draw.form->cost(machine, bytes, link), change);
      if (!change.frees(Term::latency)) item.beside_compute_s = draw.form->beside_compute_s(machine, bytes, link);
    }
    work.buckets.push_back(item);
  }
  if (change.frees(Term::latency)) return work;
  work.buffers_s = buffers_s(profile, machine);
  if (draw.form && machine.workers > 1 && change.latency.changes()) {
    // Of a broadcast along a tree, as much as its hops explain.
    const double hop_s = draw.form->hop_s(draw.link), hops = std::ceil(std::log2(static_cast<double>(machine.workers)));
    work.buffers_s += std::min(work.buffers_s, hops * hop_s) * (draw.form->hop_s(link) / hop_s - 1.0);
  }
  return work;
}

Terms Predictor::ddp_terms(const StepProfile& profile, double scale, const Machine& machine, const Draw& draw,
                           const WhatIf& change) const {
  const std::vector<Bucket> buckets = buckets_under(profile, change);
  step::DdpStep work = ddp_step(profile, buckets, scale, machine, draw, change);
  const step::DdpResult even = step::simulate(work);
  if (!change.frees(Term::skew)) {
    const double measured_s = profile.forward_s + profile.backward_s;
    const double longer = measured_s > 0.0 ? (work.forward_s + work.backward_s) / (measured_s * scale) : 1.0;
    work.straggler_s = straggler_s(profile, scale * longer, machine, draw.straggler);
  }
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
                              micro_forward_s(profile) * scale * passes(profile, draw, change),
                              work.straggler_s,
                              change.gradient_bytes};
    const double bytes = static_cast<double>(total_bytes(buckets)) * change.gradient_bytes;
    const OtherOutcome outcome =
        simulate_other(other, work, buckets, equivalent_link(machine.workers, bytes, buckets.size(), even.cost));
    // ZeRO beside DDP in one simulation: what that simulation leaves out is in the measured step.
    terms.exposed_s = std::max(0.0, (outcome.beside_ddp ? terms.exposed_s : 0.0) + outcome.exposed_s);
    terms.compute_s = std::max(0.0, (outcome.beside_ddp ? terms.compute_s : 0.0) + outcome.compute_s);
    terms.communication_s = std::max(terms.communication_s, terms.exposed_s);
    if (change.strategy.ends_with("ps")) terms.skew_s = 0.0;  // its workers differ in the simulation itself
  }
  return terms;
}

Terms Predictor::dp_terms(const StepProfile& profile, double scale, const Machine& machine, const Draw& draw,
                          const WhatIf& change) const {
  const double own = passes(profile, draw, change);
  const double longer = rounds_ratio(profile, change);
  Terms terms;
  terms.compute_s = (profile.forward_s + profile.backward_s) * scale * own * longer;
  // The optimizer runs on device 0 alone, whatever N is: only the cores it finds differ, and at that time all are idle.
  if (!change.frees(Term::compute)) terms.compute_s += profile.optimizer_s / change.compute_speed;
  terms.input_s = input_s(profile, change);
  terms.other_s = terms.input_s + profile.buffers_s + gap_s(profile, terms.compute_s);
  if (machine.workers == 1 || draw.copies.empty() || change.frees(Term::copies)) return terms;
  step::DataParallelStep step = models_.copies.step_for(machine.workers, draw.copies);
  step.parameter_bytes *= change.model_bytes;
  step.input_bytes *= batch_ratio(profile, change);
  step.output_bytes *= batch_ratio(profile, change);
  for (double* rate : {&step.root_s_per_byte, &step.to_root_s_per_byte})
    if (*rate > 0.0) *rate = 1.0 / change.bandwidth.of(1.0 / *rate);
  step.copy_overhead_s = change.latency.of(step.copy_overhead_s);
  const step::DataParallelResult copies = step::simulate(step);
  terms.communication_s = copies.copies_s * longer;
  terms.exposed_s = copies.copies_s * longer;
  terms.latency_s = copies.overhead_s * longer;
  terms.bandwidth_s = (copies.copies_s - copies.overhead_s) * longer;
  return terms;
}

}  // namespace ddpprof::fit
