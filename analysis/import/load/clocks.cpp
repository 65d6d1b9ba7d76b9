#include "analysis/import/load/clocks.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace ddpprof::import {

store::ClockAlignment align_by_ends(const ingest::LoadedShard& shard, const ingest::LoadedShard& reference) {
  store::ClockAlignment alignment;
  std::map<std::pair<std::uint64_t, std::uint64_t>, const ingest::CollectiveFact*> theirs;
  for (const ingest::CollectiveFact& fact : reference.trace.collectives)
    if (fact.start_ns && fact.end_ns) theirs.emplace(std::pair(fact.communicator, fact.sequence), &fact);
  std::vector<std::int64_t> differences_ns;
  std::int64_t shortest_ns = INT64_MAX;
  for (const ingest::CollectiveFact& fact : shard.trace.collectives) {
    if (!fact.start_ns || !fact.end_ns) continue;
    const auto other = theirs.find({fact.communicator, fact.sequence});
    if (other == theirs.end()) continue;
    differences_ns.push_back(*other->second->end_ns - *fact.end_ns);
    shortest_ns =
        std::min({shortest_ns, *fact.end_ns - *fact.start_ns, *other->second->end_ns - *other->second->start_ns});
  }
  if (differences_ns.size() < 3) return alignment;
  std::sort(differences_ns.begin(), differences_ns.end());
  const auto at = [&](double share) {
    return differences_ns[static_cast<std::size_t>(share * static_cast<double>(differences_ns.size() - 1) + 0.5)];
  };
  const std::int64_t uncertainty_ns = std::max((at(0.95) - at(0.05)) / 2, shortest_ns / 2);
  std::vector<std::int64_t> steps_ns;
  for (const ingest::StepFact& step : shard.trace.steps) steps_ns.push_back(step.time.end_ns - step.time.start_ns);
  std::sort(steps_ns.begin(), steps_ns.end());
  alignment.measured_offset_ns = at(0.5);
  if (!steps_ns.empty() && uncertainty_ns > steps_ns[steps_ns.size() / 2] / 10) return alignment;
  alignment.reference = store::ClockReference::exchange;
  alignment.offset_ns = at(0.5);
  alignment.at_ns = shard.trace.events.first_ns;
  alignment.uncertainty_ns = uncertainty_ns;
  return alignment;
}

}  // namespace ddpprof::import
