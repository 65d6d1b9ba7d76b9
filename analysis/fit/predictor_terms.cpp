// The model behind a prediction: how a profile, a compute scale and a machine become a step's terms.
#include <algorithm>
#include <cmath>

#include "analysis/fit/predictor.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/step/ddp_step.hpp"

namespace ddpprof::fit {
namespace {

constexpr double straggler_spread = 0.3;  // of the logarithm: the noise itself is known to about a third
constexpr int gloo_threads = 2;           // ProcessGroupGloo::Options' default: collectives in flight

std::int64_t total_bytes(const std::vector<Bucket>& buckets) {
  std::int64_t bytes = 0;
  for (const Bucket& bucket : buckets) bytes += bucket.bytes;
  return bytes;
}

// Seconds a byte that copying reduced gradients back took. At N = 1 every bucket is copied after the last gradient; at
// other N only what follows the last collective is seen, which is the last bucket's copy.
double copy_back_s_per_byte(const StepProfile& profile, const std::vector<Bucket>& buckets) {
  if (buckets.empty()) return 0.0;
  const std::int64_t bytes = profile.machine.workers == 1 ? total_bytes(buckets) : buckets.back().bytes;
  return bytes > 0 ? profile.tail_s / static_cast<double>(bytes) : 0.0;
}

}  // namespace

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

Terms Predictor::ddp_terms(const StepProfile& profile, double scale, const Machine& machine, const Draw& draw) const {
  // The copy-back rate comes from N = 1 where it was measured; it is memory-bound work that slows as compute does.
  const auto one = profiles().find(1);
  const bool from_one = one != profiles().end() && profile.machine.workers != 1;
  double copy_scale = scale;
  if (from_one && one->second.compute_s() > 0.0) copy_scale *= profile.compute_s() / one->second.compute_s();
  const std::vector<Bucket> buckets = buckets_of(profile);
  const double copy_rate = copy_back_s_per_byte(from_one ? one->second : profile, buckets) * copy_scale;

  const bool nccl = profile.machine.backend == "nccl";
  step::DdpStep work;
  work.forward_s = profile.forward_s * scale;
  work.backward_s = profile.backward_s * scale;
  work.optimizer_s = profile.optimizer_s * scale;
  work.data_s = profile.data_s;
  work.lanes = nccl ? 1 : gloo_threads;
  work.slowdown = machine.workers > 1 ? slowdown() : 1.0;
  for (const Bucket& bucket : buckets) {
    step::BucketWork item;
    item.ready_s = std::min(bucket.ready_s, profile.backward_s) * scale;
    item.copy_back_s = copy_rate * static_cast<double>(bucket.bytes);
    if (machine.workers > 1 && draw.form) {
      item.cost = draw.form->cost(machine, bucket.bytes, draw.link);
    }
    work.buckets.push_back(item);
  }
  // Buffers are broadcast along a tree: their time follows log2 N from the nearest N at which there was a broadcast.
  if (machine.workers > 1) {
    const StepProfile* source = profile.machine.workers > 1 ? &profile : nullptr;
    if (!source) {
      const auto next = profiles().upper_bound(1);
      if (next != profiles().end()) source = &next->second;
    }
    if (source) {
      work.buffers_s = source->buffers_s * std::log2(static_cast<double>(machine.workers)) /
                       std::log2(static_cast<double>(source->machine.workers));
    }
  } else {
    work.buffers_s = profile.buffers_s;
  }
  const step::DdpResult even = step::simulate(work);
  work.straggler_s = straggler_s(profile, scale, machine, draw.straggler);
  const step::DdpResult late = work.straggler_s > 0.0 ? step::simulate(work) : even;

  Terms terms;
  terms.compute_s = work.forward_s + even.backward_s + work.optimizer_s + even.exposed_copy_s;
  terms.exposed_s = even.exposed_s - even.exposed_copy_s;
  terms.skew_s = late.step_s - even.step_s;
  terms.input_s = profile.data_s;
  // The gap may be slightly negative: it is a median of differences beside a sum of medians.
  terms.other_s = profile.data_s + profile.gap_s;
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
  return terms;
}

Terms Predictor::dp_terms(const StepProfile& profile, double scale, const Machine& machine, const Draw& draw) const {
  Terms terms;
  terms.compute_s = (profile.forward_s + profile.backward_s) * scale;
  // The optimizer runs on device 0 alone, whatever N is: only the cores it finds differ, and at that time all are idle.
  terms.compute_s += profile.optimizer_s;
  terms.input_s = profile.data_s;
  terms.other_s = profile.data_s + profile.buffers_s + profile.gap_s;
  if (machine.workers == 1 || draw.copies.empty()) return terms;
  const step::DataParallelResult copies = step::simulate(models_.copies.step_for(machine.workers, draw.copies));
  terms.communication_s = copies.copies_s;
  terms.exposed_s = copies.copies_s;
  terms.latency_s = copies.overhead_s;
  terms.bandwidth_s = copies.copies_s - copies.overhead_s;
  return terms;
}

}  // namespace ddpprof::fit
