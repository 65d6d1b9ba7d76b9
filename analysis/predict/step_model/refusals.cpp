#include "analysis/predict/step_model/refusals.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr std::int64_t most_server_workers = 1024;

// Returns why more ranks cannot be derived from imported steps without phases.
std::optional<Refusal> missing_phases_refusal(const MeasuredJob& job) {
  const auto& profiles = job.profiles();
  if (!job.models().measured.imported ||
      std::ranges::any_of(profiles, [](const auto& one) { return one.second.compute_s() > 0.0; }))
    return std::nullopt;
  return Refusal{
      "the phases of the steps are not recorded, as in replays of CUDA graphs or in inference. Without them the "
      "overlap "
      "of communication and compute is unknown: record a training without CUDA graphs, with the host's operations "
      "(ProfilerActivity.CPU) or NVTX ranges of the phases"};
}

// Returns why the measured parts contradict the step: imported phases may overlap, or be those of other work.
std::optional<Refusal> phases_refusal(const MeasuredJob& job) {
  constexpr double most = 0.1;  // of the step; less may be noise of medians
  if (!job.is_ddp() || !job.models().measured.imported) return std::nullopt;
  for (const auto& [workers, profile] : job.profiles()) {
    const double step_s = stats::median(profile.step_s);
    if (!(profile.gap_s < -most * step_s)) continue;
    const auto percent = [&](double part_s) { return std::to_string(std::llround(100.0 * part_s / step_s)) + " %"; };
    return Refusal{"at N = " + std::to_string(workers) + " forward, backward, optimizer and input last " +
                   percent(step_s - profile.gap_s) +
                   " of the step in sum, so they overlap or were recorded wrongly: "
                   "the parts of a step are unknown"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> communication_refusal(const MeasuredJob& job) {
  const Models& models = job.models();
  if (job.is_ddp() && !models.all_reduce.usable) return Refusal{"all-reduce: " + models.all_reduce.status};
  if (!job.is_ddp() && !models.copies.usable) return Refusal{"copies: " + models.copies.status};
  return std::nullopt;
}

std::optional<Refusal> prediction_refusal(const MeasuredJob& job, std::int64_t workers) {
  const auto& profiles = job.profiles();
  if (profiles.empty()) return Refusal{"no step of " + job.strategy() + " was measured"};
  const bool same = !job.options().dedicated && (job.options().gpus_per_node == 0 || !job.is_ddp());
  if (profiles.contains(workers) && (same || job.measured_on(job.machine_for(workers)) != nullptr)) return std::nullopt;
  if (auto refusal = missing_phases_refusal(job)) return refusal;
  if (!job.compute().usable) return Refusal{"compute: " + job.compute().status};
  if (auto refusal = phases_refusal(job)) return refusal;
  if (workers == 1) return std::nullopt;
  const bool sized = std::ranges::any_of(profiles, [](const auto& one) { return one.second.parameter_bytes > 0; });
  if (job.is_ddp() && job.models().measured.imported && !sized)
    return Refusal{"the size of the gradients is not recorded: give it with import --param-bytes"};
  if (auto refusal = communication_refusal(job)) return refusal;
  const Machine machine = job.machine_for(workers);
  if (job.needs_unmeasured_links(machine)) {
    const FormFit& picked = job.models().all_reduce.picked();
    if (!(picked.byte_s(picked.solution.values, machine) > 0.0))
      return Refusal{
          "the message sizes of the log do not show the bandwidth inside a node, which is compared with that of the "
          "links between nodes: give a log with several sizes"};
  }
  return std::nullopt;
}

std::optional<Refusal> change_refusal(const MeasuredJob& job, const WhatIf& change) {
  const StepProfile& last = job.profiles().rbegin()->second;
  if (change.changes_sharding())
    return Refusal{"reshard_after_forward, prefetch and replicate apply to sharded trainings (FSDP) only"};
  if (change.strategy == "ddp") return Refusal{"strategy=ddp applies to sharded trainings (FSDP) only"};
  if (!(last.compute_s() > 0.0)) return Refusal{"the steps were recorded without phases, so their parts are unknown"};
  if (change.batch_per_worker && !(last.samples_per_worker > 0.0))
    return Refusal{"the batch of the measured steps is not recorded: give it with import --batch-per-worker"};
  if (change.host_speed != 1.0 && !last.waits_for_host())
    return Refusal{"no device waited for the host's launches in the recording, so faster launches have no effect"};
  if (change.gradient_bytes != 1.0 || change.model_bytes != 1.0)
    for (const int bytes : {1, 2, 8})  // a mean of several kinds is near another number
      if (std::abs(last.element_bytes / bytes - 1.0) < 0.01)
        return Refusal{"the parameters have " + std::to_string(bytes) +
                       (bytes == 1 ? " byte" : " bytes") + " each, and the change is from 4 bytes to 2"};
  if (job.is_ddp()) {
    if (change.gradient_bytes != 1.0 && last.compressed) return Refusal{"the measured runs already compress gradients"};
    return std::nullopt;
  }
  if (change.bucket_cap_mb) return Refusal{"DataParallel has no buckets"};
  if (change.gradient_bytes != 1.0)
    return Refusal{"DataParallel has no communication hook that could compress gradients"};
  if (!change.overlap) return Refusal{"DataParallel does not overlap communication with compute"};
  if (!change.strategy.empty()) return Refusal{"other strategies are simulated from measured DDP steps only"};
  return std::nullopt;
}

std::optional<Refusal> change_refusal_at(const MeasuredJob& job, std::int64_t workers, const WhatIf& change) {
  const bool servers = change.strategy.ends_with("ps");
  if (servers && workers > most_server_workers)
    return Refusal{"parameter servers are simulated with up to " + std::to_string(most_server_workers) + " workers"};
  if (servers && change.servers > workers)
    return Refusal{std::to_string(change.servers) + " servers are more than the number of workers"};
  if (workers == 1 && change.changes_links()) return Refusal{"a single rank does not communicate"};
  // A changed step is the model's, also at a measured N.
  if (auto refusal = phases_refusal(job)) return refusal;
  if (workers == 1) return std::nullopt;
  if (auto refusal = communication_refusal(job)) return refusal;
  if (job.is_ddp()) {
    const FormFit& picked = job.models().all_reduce.picked();
    const std::vector<double>& values = picked.solution.values;
    const Machine machine = job.machine_for(workers);
    if (change.latency.value && !(picked.hop_s(values, machine) > 0.0))
      return Refusal{
          "cannot derive a latency from this log: its message sizes do not separate it from bandwidth. Give a factor, "
          "for example latency=0.5x"};
    if (change.bandwidth.value && !(picked.byte_s(values, machine) > 0.0))
      return Refusal{
          "cannot derive a bandwidth from this log: its message sizes do not separate it from latency. Give a factor, "
          "for example bandwidth=2x"};
  }
  return std::nullopt;
}

}  // namespace ddpprof::fit
