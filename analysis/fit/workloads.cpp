#include "analysis/fit/workloads.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace ddpprof::fit {

std::string name_of(const MeasurementInfo& info) {
  return "measurement " + std::to_string(info.id) + " (" + info.strategy +
         ", N = " + std::to_string(info.machine.workers) + ")";
}

std::vector<MeasurementInfo> of_one_workload(const std::vector<MeasurementInfo>& all, Measured& measured) {
  std::map<std::string, std::set<std::pair<std::string, std::int64_t>>> places;
  std::vector<std::string> order;
  for (const MeasurementInfo& info : all) {
    if (info.kind == "bench-comm") continue;
    if (!places.contains(info.workload)) order.push_back(info.workload);
    places[info.workload].insert({info.strategy, info.machine.workers});
  }
  if (order.size() < 2) return all;
  const auto chosen = std::max_element(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
    return places[a].size() < places[b].size();
  });
  std::string doubt = "the database mixes workloads: fits and predictions rest on " + *chosen;
  for (const std::string& workload : order) {
    if (workload == *chosen) continue;
    doubt += "; left out: " + workload + " (measurements";
    const char* separator = " ";
    for (const MeasurementInfo& info : all) {
      if (info.kind == "bench-comm" || info.workload != workload) continue;
      doubt += separator + std::to_string(info.id);
      separator = ", ";
    }
    doubt += ")";
  }
  measured.doubts.push_back(doubt);
  measured.mixed = true;
  std::vector<MeasurementInfo> kept;
  for (const MeasurementInfo& info : all) {
    if (info.kind == "bench-comm" || info.workload == *chosen) kept.push_back(info);
  }
  return kept;
}

}  // namespace ddpprof::fit
