#include "analysis/metrics/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace ddpprof::metrics {

std::vector<const Configuration*> scaling_configurations(const std::vector<Configuration>& configurations) {
  std::map<std::string, std::map<std::int64_t, std::int64_t>> counts;  // strategy -> samples a worker -> worker counts
  const auto samples = [](const Configuration& c) { return c.batch_per_worker * c.accumulation; };
  for (const Configuration& c : configurations) {
    if (!c.measured.empty()) ++counts[c.strategy][samples(c)];
  }
  std::vector<const Configuration*> found;
  for (const Configuration& c : configurations) {
    if (c.measured.empty()) continue;
    const auto& of_strategy = counts[c.strategy];
    const auto most = std::max_element(of_strategy.begin(), of_strategy.end(),
                                       [](const auto& a, const auto& b) { return a.second <= b.second; });
    if (samples(c) == most->first) found.push_back(&c);
  }
  return found;
}

std::vector<MeasuredScaling> measured_scaling(const std::vector<Configuration>& configurations) {
  std::vector<MeasuredScaling> measured;
  for (const Configuration* c : scaling_configurations(configurations)) {
    measured.push_back({c->strategy,
                        {c->world_size, median_of(c->timed(), &RunStep::duration_s).mid,
                         median_of(c->measured, &RunStep::exposed_s).mid}});
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
