#include "analysis/fit/workload_key.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ddpprof::fit {

WorkloadKey WorkloadKey::without_batch() const {
  WorkloadKey key = *this;
  key.batch_per_worker = 0;
  return key;
}

std::string WorkloadKey::text() const {
  const std::string rounds = accumulation > 1 ? " × " + std::to_string(accumulation) : "";
  return model + ", batch " + std::to_string(batch_per_worker) + " per worker" + rounds + ", " + precision + ", " +
         device;
}

std::optional<WorkloadKey> most_measured_workload(const std::vector<WorkloadMeasurement>& measurements) {
  struct Places {
    std::set<std::pair<std::string, std::int64_t>> strategy_and_workers;
    std::int64_t first_id = 0;
  };
  std::map<WorkloadKey, Places> workloads;
  for (const WorkloadMeasurement& one : measurements) {
    const auto [found, added] = workloads.try_emplace(one.workload, Places{{}, one.id});
    found->second.first_id = std::min(found->second.first_id, one.id);
    found->second.strategy_and_workers.insert({one.strategy, one.workers});
  }
  const auto most = std::ranges::max_element(workloads, {}, [](const auto& one) {
    return std::pair{one.second.strategy_and_workers.size(), -one.second.first_id};
  });
  if (most == workloads.end()) return std::nullopt;
  return most->first;
}

}  // namespace ddpprof::fit
