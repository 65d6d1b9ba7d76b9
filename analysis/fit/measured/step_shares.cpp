#include "analysis/fit/measured/step_shares.hpp"

#include <algorithm>

#include "analysis/fit/measured/pool.hpp"
#include "analysis/fit/measured/profiler_cost.hpp"
#include "analysis/fit/measured/unseen_waits.hpp"

namespace ddpprof::fit {

std::int64_t exposed_wait_ns(const StepInfo& step, std::span<const CollectiveInfo* const> collectives) {
  const std::int64_t most_ns = std::clamp<std::int64_t>(step.skew_ns, 0, std::max<std::int64_t>(0, step.exposed_ns));
  if (!step.last_ready_ns || most_ns == 0) return most_ns;
  std::int64_t until_ns = step.start_ns + *step.last_ready_ns;
  std::int64_t waits_ns = 0, transfers_ns = 0;  // behind the last gradient
  for (const CollectiveInfo* one : collectives) {
    if (!one->start_ns || !one->end_ns) continue;
    const std::int64_t arrived_ns = std::min(*one->start_ns + one->skew_ns, *one->end_ns);
    const auto take = [&](std::int64_t begin_ns, std::int64_t end_ns, std::int64_t& sum_ns) {
      sum_ns += std::max<std::int64_t>(0, end_ns - std::max(begin_ns, until_ns));
      until_ns = std::max(until_ns, end_ns);
    };
    take(*one->start_ns, arrived_ns, waits_ns);
    take(arrived_ns, *one->end_ns, transfers_ns);
  }
  const std::int64_t after_ns = waits_ns + transfers_ns;
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return whole > 0 ? std::clamp(static_cast<double>(part) / static_cast<double>(whole), 0.0, 1.0) : 0.0;
  };
  const auto exposed_after_ns = static_cast<double>(std::min(step.exposed_ns, after_ns));
  const double found_ns = exposed_after_ns * share(waits_ns, after_ns) +
                          (static_cast<double>(step.exposed_ns) - exposed_after_ns) *
                              share(step.skew_ns - waits_ns, step.communication_ns - after_ns);
  return std::min(most_ns, static_cast<std::int64_t>(found_ns + 0.5));
}

StepShares shares_of(const StepInfo& step, bool ddp, bool several, std::int64_t wait_ns) {
  std::int64_t outside_ns = 0;  // of compute
  if (!ddp)
    outside_ns = step.communication_ns > 0 ? step.exposed_ns : step.copy_ns;
  else if (several)
    outside_ns = step.exposed_ns;
  outside_ns = std::min(outside_ns, step.duration_ns);
  const std::int64_t skew_ns = ddp ? std::min(wait_ns, outside_ns) : 0;
  const std::int64_t passes_ns = step.forward_ns + step.backward_ns + step.optimizer_ns;
  const std::int64_t compute_ns =
      std::min(step.compute_ns > 0 ? step.compute_ns : passes_ns, step.duration_ns - outside_ns);
  const std::int64_t other_ns = step.duration_ns - outside_ns - compute_ns;
  const std::int64_t host_ns = std::min(step.device_idle_ns.value_or(0), other_ns);
  std::int64_t before_ns = 0;  // outside of every phase, before the last backward
  if (step.backward_start_ns)
    before_ns = *step.backward_start_ns - step.early_optimizer_ns - step.data_ns - step.buffers_ns - step.forward_ns -
                (step.backward_ns - step.last_backward_ns);
  const auto share = [&](std::int64_t part_ns) {
    return static_cast<double>(part_ns) / static_cast<double>(step.duration_ns);
  };
  return {.compute = share(compute_ns),
          .exposed = share(outside_ns - skew_ns),
          .skew = share(skew_ns),
          .host = share(host_ns),
          .other = share(other_ns - host_ns),
          .input = share(std::min(step.data_ns, other_ns - host_ns)),
          .idle_before = share(std::clamp<std::int64_t>(before_ns, 0, host_ns))};
}

std::vector<std::pair<std::int64_t, StepShares>> shares_of_steps(const std::vector<StepInfo>& steps,
                                                                 const std::vector<CollectiveInfo>& collectives,
                                                                 bool ddp, bool several) {
  std::map<std::int64_t, std::vector<const CollectiveInfo*>> of_step;
  for (const CollectiveInfo& collective : collectives) of_step[collective.step_id].push_back(&collective);
  std::vector<double> durations_ns;
  for (const StepInfo& step : steps)
    if (!step.unwrapped && !step.untraced) durations_ns.push_back(static_cast<double>(step.duration_ns));
  const double longest_ns = most_medians_of_a_step * median_or(durations_ns, 0.0);
  std::vector<std::pair<std::int64_t, StepShares>> all;
  for (const StepInfo& step : steps) {
    if (step.unwrapped || step.untraced || step.duration_ns <= 0) continue;
    if (static_cast<double>(step.duration_ns) > longest_ns) continue;
    all.emplace_back(step.step, shares_of(step, ddp, several, exposed_wait_ns(step, of_step[step.id])));
  }
  return all;
}

std::map<std::int64_t, StepShares> shares_by_step(SQLite::Database& sql, const MeasurementInfo& info) {
  Measured warnings;  // those of the predictions are enough
  std::vector<StepInfo> steps = complete_steps(read_steps(sql, info.id), info, warnings);
  std::vector<CollectiveInfo> collectives = read_collectives(sql, info.id);
  find_unseen_waits(info, steps, collectives);
  const ProfilerCost profiler(steps);
  std::map<std::int64_t, std::vector<StepShares>> of_ranks;
  for (const auto& [step, shares] : shares_of_steps(profiler.removed(steps), profiler.removed(collectives, steps),
                                                    info.strategy != "dp", info.machine.workers > 1))
    of_ranks[step].push_back(shares);
  std::map<std::int64_t, StepShares> means;
  for (const auto& [step, shares] : of_ranks) means.emplace(step, mean_of(shares));
  return means;
}

StepShares mean_of(const std::vector<StepShares>& all) {
  StepShares mean;
  for (const StepShares& one : all)
    for (double StepShares::*part : {&StepShares::compute, &StepShares::exposed, &StepShares::skew, &StepShares::host,
                                     &StepShares::other, &StepShares::input, &StepShares::idle_before})
      mean.*part += one.*part / static_cast<double>(all.size());
  return mean;
}

}  // namespace ddpprof::fit
