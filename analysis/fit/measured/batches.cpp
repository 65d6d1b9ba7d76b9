#include "analysis/fit/measured/batches.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/fit/measured/pool.hpp"
#include "analysis/fit/measured/profiler_cost.hpp"
#include "analysis/fit/measured/workloads.hpp"

namespace ddpprof::fit {
namespace {

BatchPoint batch_point(const StepProfile& profile) {
  return {profile.machine.workers, profile.batch_per_worker,
          (profile.forward_s + profile.backward_s) / static_cast<double>(profile.accumulation), profile.compute_noise};
}

}  // namespace

void add_batches(SQLite::Database& sql, const std::vector<MeasurementInfo>& others, Measured& measured) {
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Pool> pools;  // strategy, N, batch
  for (const MeasurementInfo& info : others) {
    const auto& profiles = info.strategy == "ddp" ? measured.ddp : measured.dp;
    const auto beside = profiles.find(info.machine.workers);
    Pool& pool = pools[{info.strategy, info.machine.workers, info.batch_per_worker}];
    const bool first = pool.profile.step_s.empty();
    const bool other_backend = beside != profiles.end() && beside->second.machine.backend != info.machine.backend;
    if (other_backend || (beside != profiles.end() && !same_setting(beside->second, info)) ||
        (!first && !same_setting(pool.profile, info))) {
      measured.warnings.push_back(
          name_of(info) + " has another batch and also differs from the other runs at this N in parameters, threads, " +
          "cores, hosts or backend: not used");
      continue;
    }
    const std::vector<StepInfo> steps = complete_steps(read_steps(sql, info.id), info, measured);
    if (!has_measured_step(steps)) {
      measured.warnings.push_back(name_of(info) + " contains no measured step");
      continue;
    }
    if (first) set_setting(pool.profile, info);
    const ProfilerCost profiler(steps);
    add_steps(pool, profiler.removed(steps), profiler.removed(read_collectives(sql, info.id), steps));
  }
  for (auto& [key, pool] : pools) {
    if (pool.profile.step_s.empty()) continue;
    const auto& [strategy, workers, batch] = key;
    const StepProfile& profile =
        measured.other_batches[strategy].insert_or_assign({workers, batch}, condense(pool)).first->second;
    measured.batches[strategy].push_back(batch_point(profile));
  }
  for (auto& [strategy, points] : measured.batches) {
    const auto& profiles = strategy == "ddp" ? measured.ddp : measured.dp;
    for (const auto& [workers, profile] : profiles) points.push_back(batch_point(profile));
    std::erase_if(points, [](const BatchPoint& point) { return !(point.passes_s > 0.0) || point.batch < 1; });
    set_levels(points, !profiles.empty() && profiles.begin()->second.machine.device == "cuda");
    std::ranges::sort(points, {}, [](const BatchPoint& point) { return std::pair{point.workers, point.batch}; });
  }
}

}  // namespace ddpprof::fit
