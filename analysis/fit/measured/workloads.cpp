#include "analysis/fit/measured/workloads.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

namespace ddpprof::fit {
namespace {

bool trains(const MeasurementInfo& info) {
  return info.kind != "bench-comm" && (info.strategy == "ddp" || info.strategy == "dp");
}

// Returns the measurements that differ from the chosen workload in the batch, if their N was also measured with another
// batch.
std::set<std::int64_t> telling(const std::vector<MeasurementInfo>& all, const MeasurementInfo& chosen) {
  const WorkloadKey but_for_batch = chosen.workload.without_batch();
  std::map<std::string, std::vector<BatchPoint>> points;
  for (const MeasurementInfo& info : all)
    if (trains(info) && info.workload.without_batch() == but_for_batch)
      points[info.strategy].push_back({info.machine.workers, info.batch_per_worker});
  std::set<std::int64_t> ids;
  for (auto& [strategy, of_strategy] : points) {
    set_levels(of_strategy, chosen.machine.device == "cuda");
    for (const MeasurementInfo& info : all) {
      if (!trains(info) || info.workload.without_batch() != but_for_batch || info.strategy != strategy) continue;
      if (info.workload != chosen.workload && std::ranges::any_of(of_strategy, [&](const BatchPoint& point) {
            return point.workers == info.machine.workers && point.batch == info.batch_per_worker;
          }))
        ids.insert(info.id);
    }
  }
  return ids;
}

}  // namespace

std::string name_of(const MeasurementInfo& info) {
  return "measurement " + std::to_string(info.id) + " (" + info.strategy +
         ", N = " + std::to_string(info.machine.workers) + ")";
}

void set_levels(std::vector<BatchPoint>& points, bool own_device) {
  std::map<std::int64_t, std::set<std::int64_t>> batches;  // by N
  for (const BatchPoint& point : points) batches[point.workers].insert(point.batch);
  const bool apart = std::ranges::any_of(batches, [](const auto& one) { return one.second.size() > 1; });
  for (BatchPoint& point : points) point.level = apart || !own_device ? point.workers : 0;
  std::map<std::int64_t, std::set<std::int64_t>> of_level;
  for (const BatchPoint& point : points) of_level[point.level].insert(point.batch);
  std::erase_if(points, [&](const BatchPoint& point) { return of_level.at(point.level).size() < 2; });
}

Chosen choose_workload(const std::vector<MeasurementInfo>& all, Measured& measured) {
  std::vector<WorkloadKey> order;
  std::vector<WorkloadMeasurement> measurements;
  for (const MeasurementInfo& info : all) {
    if (info.kind == "bench-comm") continue;
    if (std::ranges::find(order, info.workload) == order.end()) order.push_back(info.workload);
    measurements.push_back({info.workload, info.strategy, info.machine.workers, info.id});
  }
  if (order.size() < 2) return {all, {}};
  const WorkloadKey key = *most_measured_workload(measurements);
  const auto of_chosen = [&](const MeasurementInfo& info) { return info.workload == key; };
  const std::set<std::int64_t> others = telling(
      all, *std::ranges::find_if(all, [&](const auto& info) { return info.kind != "bench-comm" && of_chosen(info); }));
  Chosen chosen;
  for (const MeasurementInfo& info : all) {
    if (info.kind == "bench-comm" || of_chosen(info)) chosen.of_workload.push_back(info);
    if (others.contains(info.id)) chosen.other_batches.push_back(info);
  }
  std::string left_out;
  for (const WorkloadKey& workload : order) {
    if (workload == key) continue;
    std::string ids;
    for (const MeasurementInfo& info : all) {
      if (info.kind == "bench-comm" || info.workload != workload || others.contains(info.id)) continue;
      ids += (ids.empty() ? " " : ", ") + std::to_string(info.id);
    }
    if (workload.without_batch() == key.without_batch())
      for (const MeasurementInfo& info : all)
        if (trains(info) && info.workload == workload && info.machine.workers > 1 && measured.unlike_batches.empty())
          measured.unlike_batches = "N = " + std::to_string(info.machine.workers) + " was measured with a batch of " +
                                    std::to_string(workload.batch_per_worker) + " per worker, and not of " +
                                    std::to_string(key.batch_per_worker) +
                                    ": measure every N with the same batch per worker";
    if (!ids.empty()) left_out += "; not used: " + workload.text() + " (measurements" + ids + ")";
  }
  if (left_out.empty()) return chosen;
  measured.warnings.push_back("the database contains several workloads: fits and predictions use " + key.text() +
                              left_out +
                              "; to predict another workload, store its measurements in a database of its own");
  measured.mixed = true;
  return chosen;
}

}  // namespace ddpprof::fit
