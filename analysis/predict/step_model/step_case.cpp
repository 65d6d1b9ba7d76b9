#include "analysis/predict/step_model/step_case.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "analysis/fit/measured/gradients.hpp"
#include "analysis/predict/step_model/batch_change.hpp"
#include "simulator/stats/normal.hpp"

namespace ddpprof::fit {
namespace {

constexpr int gloo_threads = 2;  // ProcessGroupGloo::Options' default: collectives in flight

// Slower copies than this are not limited by memory: something else runs at that time.
constexpr double slowest_copy_s_per_byte = 5e-9;  // 0.2 GB/s

// Returns seconds per byte of copying reduced gradients back. At N = 1 every bucket is copied after the last gradient.
// At other N only the copy of the last bucket follows the last collective, and a tiny bucket's rate must not be taken
// for the rate of all.
double copied_s_per_byte(const StepProfile& profile, const std::vector<Bucket>& buckets) {
  if (buckets.empty()) return 0.0;
  const std::int64_t bytes = profile.machine.workers == 1 ? total_bytes(buckets) : buckets.back().bytes;
  return bytes > 0 ? std::min(slowest_copy_s_per_byte, profile.tail_s / static_cast<double>(bytes)) : 0.0;
}

// Returns the expected lateness of the slowest rank as a share of forward and backward.
double lateness(const MeasuredJob& job, const StepProfile& profile, const Machine& machine) {
  const double reach_s = profile.forward_s + profile.backward_s;
  if (machine.workers < 2 || !(reach_s > 0.0)) return 0.0;
  // On a measured machine: the measured lateness. Elsewhere: its relative sigma times Blom's expected maximum of N.
  if (&profile == job.measured_on(machine) && profile.machine.workers > 1) return profile.straggler_s / reach_s;
  double sigma = 0.0;
  bool found = false;
  for (const auto& [workers, other] : job.profiles()) {
    const double other_reach_s = other.forward_s + other.backward_s;
    if (workers < 2 || !(other_reach_s > 0.0)) continue;
    if (found && job.options().dedicated) break;  // N ascends: dedicated takes the least crowded, else the largest N
    sigma = other.straggler_s / stats::blom_expected_max(workers) / other_reach_s;
    found = true;
  }
  if (!found) sigma = profile.step_jitter;  // ranks differ at least as much as one rank's steps do
  return sigma * stats::blom_expected_max(machine.workers);
}

// Returns the profile's buckets, else those of another N stretched to this backward, else one for all parameters.
std::vector<Bucket> buckets_of(const MeasuredJob& job, const StepProfile& profile) {
  if (!profile.buckets.empty()) return profile.buckets;
  for (const auto& [workers, other] : job.profiles()) {
    if (other.buckets.empty() || !(other.backward_s > 0.0)) continue;
    std::vector<Bucket> buckets = other.buckets;
    for (Bucket& bucket : buckets) bucket.ready_s *= profile.backward_s / other.backward_s;
    return buckets;
  }
  return {{profile.parameter_bytes, profile.backward_s}};
}

std::vector<Bucket> buckets_under(const MeasuredJob& job, const StepProfile& profile, const WhatIf& change) {
  const auto scaled = [&](std::int64_t bytes) { return std::llround(static_cast<double>(bytes) * change.model_bytes); };
  if (change.bucket_cap_mb || change.model_bytes != 1.0) {
    for (const auto& [workers, other] : job.profiles()) {
      const StepProfile& source = profile.gradients.empty() ? other : profile;
      if (source.gradients.empty() || !(source.backward_s > 0.0)) continue;
      std::vector<GradientReady> gradients = source.gradients;
      for (GradientReady& gradient : gradients) gradient.bytes = scaled(gradient.bytes);
      const std::optional<double> cap = change.bucket_cap_mb ? change.bucket_cap_mb : source.bucket_cap_mb;
      std::vector<Bucket> buckets =
          bucketed(gradients, step::BucketLimits::from_cap(cap), source.find_unused_parameters);
      for (Bucket& bucket : buckets) bucket.ready_s *= profile.backward_s / source.backward_s;
      return buckets;
    }
    if (change.bucket_cap_mb) throw std::invalid_argument("the time at which each gradient is ready was not recorded");
  }
  std::vector<Bucket> buckets = buckets_of(job, profile);
  for (Bucket& bucket : buckets) bucket.bytes = scaled(bucket.bytes);
  return buckets;
}

// Returns how many times longer compute takes while communication is in flight.
double slowdown(const MeasuredJob& job) {
  // Only if the profile was taken without communication. In every other profile, compute includes the contention.
  const auto& profiles = job.profiles();
  const auto one = profiles.find(1);
  if (!job.options().dedicated || one == profiles.end() || !(one->second.unwrapped_s > 0.0)) return 1.0;
  for (const auto& [workers, profile] : profiles) {
    if (workers < 2 || !(profile.unwrapped_s > 0.0) || !(profile.overlapped_s > 0.05 * profile.backward_s)) continue;
    // The time that DDP itself adds at N = 1 (hooks, copies into buckets) is not contention.
    const double wrapper = one->second.compute_s() / one->second.unwrapped_s;
    const double extra_s = profile.compute_s() - profile.unwrapped_s * wrapper;
    const double share = std::clamp(extra_s / profile.overlapped_s, 0.0, 0.5);  // 1 - 1/s
    return 1.0 / (1.0 - share);
  }
  return 1.0;
}

double copy_back_s_per_byte(const MeasuredJob& job, const StepProfile& profile, const std::vector<Bucket>& buckets) {
  // The rate comes from N = 1 if that was measured. Copying is memory-bound work that slows down as compute does.
  const auto one = job.profiles().find(1);
  if (one == job.profiles().end() || profile.machine.workers == 1) return copied_s_per_byte(profile, buckets);
  const double rate = copied_s_per_byte(one->second, buckets);
  return one->second.compute_s() > 0.0 ? rate * profile.compute_s() / one->second.compute_s() : rate;
}

// Returns the profile, or if it is of one rank, which exchanges nothing, that of the smallest N above; nullptr if none
// is.
const StepProfile* of_several_ranks(const MeasuredJob& job, const StepProfile& profile) {
  if (profile.machine.workers > 1) return &profile;
  const auto next = job.profiles().upper_bound(1);
  return next == job.profiles().end() ? nullptr : &next->second;
}

// Buffers are broadcast along a tree: their time follows log2 N from the nearest N at which there was a broadcast.
double buffers_s(const MeasuredJob& job, const StepProfile& profile, const Machine& machine) {
  if (machine.workers == 1) return profile.buffers_s;
  const StepProfile* source = of_several_ranks(job, profile);
  if (!source) return 0.0;
  return source->buffers_s * std::log2(static_cast<double>(machine.workers)) /
         std::log2(static_cast<double>(source->machine.workers));
}

// Returns how long the work of all ranks of a host takes on its cores: ranks times the compute time of one rank alone,
// which keeps at least one core busy, over the number of cores. 0 on GPUs, on a measured machine and without N = 1.
double all_work_s(const MeasuredJob& job, const StepCase& at) {
  const auto found = job.profiles().find(1);
  if (at.machine.device == "cuda" || found == job.profiles().end() || at.measured) return 0.0;
  const StepProfile& one = found->second;
  double work_s = rounds_ratio(one, at.change) * passes_factor(*at.batch_fit, one, at.change, {}).whole *
                  (one.forward_s + one.backward_s);
  if (!at.change.frees(Term::compute)) work_s += one.optimizer_s / at.change.compute_speed;
  return static_cast<double>(at.machine.ranks_per_machine()) * work_s / static_cast<double>(at.machine.cores);
}

}  // namespace

int lanes_of(const StepProfile& profile) { return profile.machine.backend == "nccl" ? 1 : gloo_threads; }

std::int64_t total_bytes(const std::vector<Bucket>& buckets) {
  std::int64_t bytes = 0;
  for (const Bucket& bucket : buckets) bytes += bucket.bytes;
  return bytes;
}

StepCase step_case(const MeasuredJob& job, const Machine& machine, const WhatIf& change) {
  const ComputeFit& compute = job.compute();
  StepCase at;
  at.ddp = job.is_ddp();
  at.machine = at.linked = machine;
  at.change = change;
  const StepProfile* measured = job.measured_on(machine);
  at.measured = measured != nullptr;
  at.profile = measured ? measured : &job.nearest(machine);
  at.batch_fit = &compute.batch;
  at.copy_fit = &job.models().copies;
  const StepProfile& profile = *at.profile;
  if (!measured && !compute.solution.x.empty())
    at.log_scale = compute.log_compute(machine) - compute.log_compute(profile.machine);
  if (!change.frees(Term::sharing)) at.least_step_s = all_work_s(job, at);
  if (!at.ddp) return at;
  if (!change.frees(Term::skew)) at.lateness = lateness(job, profile, machine);
  at.others = of_several_ranks(job, profile);
  at.buckets = buckets_under(job, profile, change);
  at.copy_back_s_per_byte = copy_back_s_per_byte(job, profile, buckets_of(job, profile));
  if (machine.workers > 1) at.slowdown = slowdown(job);
  if (!change.frees(Term::latency)) at.buffers_s = buffers_s(job, profile, machine);
  // Cores of their own do not move the ranks to other links.
  const Machine linked = change.frees(Term::sharing) ? job.machine_for(machine.workers) : machine;
  at.linked.nodes = job.linked_nodes(linked);
  if (job.needs_unmeasured_links(linked)) {
    at.link_range = range_of(job.options().inter_node, linked);
    at.link = at.link_range->middle;
  } else if (job.needs_unmeasured_inside_links(linked)) {
    at.link_range = range_inside_node();
    at.link = at.link_range->middle;
  }
  return at;
}

StepCase step_case_at(const MeasuredJob& job, std::int64_t workers, const WhatIf& change) {
  const bool own_cores = change.frees(Term::sharing);
  return step_case(job, own_cores ? job.compute().dedicated_machine(workers) : job.machine_for(workers), change);
}

std::vector<StepCase> link_ends(const StepCase& at) {
  if (!at.link_range) return {at};
  std::vector<StepCase> ends = {at, at};
  ends[0].link = at.link_range->fast;
  ends[1].link = at.link_range->slow;
  return ends;
}

Terms with_all_work(Terms terms, const StepCase& at) {
  if (at.least_step_s == 0.0) return terms;
  terms.compute_s += std::max(0.0, at.least_step_s - (at.ddp ? terms.step_s() : terms.compute_s));
  return terms;
}

}  // namespace ddpprof::fit
