#include "analysis/metrics/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace ddpprof::metrics {

namespace {

// Returns true for strong scaling: each N of the strategy has one batch, which falls as N grows, and the global batches
// are about equal (they have to be divisible by N).
bool keeps_global_batch(const std::vector<Configuration>& configurations, const std::string& strategy) {
  constexpr double about_equal = 1.5;
  std::map<std::int64_t, const Configuration*> by_workers;
  for (const Configuration& c : configurations)
    if (!c.measured.empty() && c.strategy == strategy && !by_workers.emplace(c.world_size, &c).second) return false;
  const auto samples = [](const Configuration& c) { return c.batch_per_worker * c.accumulation; };
  const Configuration* before = nullptr;
  std::int64_t least = 0, most = 0;
  for (const auto& [workers, c] : by_workers) {
    if (samples(*c) <= 0 || (before != nullptr && samples(*c) >= samples(*before))) return false;
    before = c;
    least = least == 0 ? c->global_batch() : std::min(least, c->global_batch());
    most = std::max(most, c->global_batch());
  }
  return by_workers.size() > 1 && static_cast<double>(most) <= about_equal * static_cast<double>(least);
}

}  // namespace

std::vector<const Configuration*> scaling_configurations(const std::vector<Configuration>& configurations) {
  struct Batch {
    std::int64_t worker_counts = 0;
    std::int64_t first_measurement = std::numeric_limits<std::int64_t>::max();
  };
  std::map<std::string, std::map<std::int64_t, Batch>> batches;  // by strategy and samples of a worker
  const auto samples = [](const Configuration& c) { return c.batch_per_worker * c.accumulation; };
  for (const Configuration& c : configurations) {
    if (c.measured.empty()) continue;
    Batch& batch = batches[c.strategy][samples(c)];
    ++batch.worker_counts;
    for (const std::int64_t id : c.measurements) batch.first_measurement = std::min(batch.first_measurement, id);
  }
  std::set<std::string> strong;  // strategies of which every N counts
  for (const auto& [strategy, found] : batches)
    if (keeps_global_batch(configurations, strategy)) strong.insert(strategy);
  std::vector<const Configuration*> found;
  for (const Configuration& c : configurations) {
    if (c.measured.empty()) continue;
    if (strong.contains(c.strategy)) {
      found.push_back(&c);
      continue;
    }
    const auto& of_strategy = batches[c.strategy];
    const auto most = std::max_element(of_strategy.begin(), of_strategy.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.worker_counts, -a.second.first_measurement) <
             std::pair(b.second.worker_counts, -b.second.first_measurement);
    });
    if (samples(c) == most->first) found.push_back(&c);
  }
  return found;
}

std::vector<MeasuredScaling> measured_scaling(const std::vector<Configuration>& configurations) {
  std::vector<MeasuredScaling> measured;
  for (const Configuration* c : scaling_configurations(configurations)) {
    if (!c->communication_known) continue;
    measured.push_back({c->strategy,
                        {c->world_size, median_of(c->timed(), &RunStep::duration_s).mid,
                         median_of(c->parts(), &RunStep::exposed_s).mid}});
  }
  return measured;
}

bool of_measured_machine(const MeasuredScaling& measured, std::span<const store::PredictionRow> predicted) {
  return std::none_of(predicted.begin(), predicted.end(), [&](const store::PredictionRow& row) {
    return row.strategy == measured.strategy && row.world_size == measured.point.workers &&
           std::abs(row.step_s - measured.point.step_s) > 0.01 * measured.point.step_s;
  });
}

}  // namespace ddpprof::metrics
