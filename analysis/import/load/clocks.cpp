#include "analysis/import/load/clocks.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace ddpprof::import {
namespace {

struct Evidence {
  std::vector<std::int64_t> end_differences_ns;                      // ascending
  std::int64_t least_ns = std::numeric_limits<std::int64_t>::min();  // lower bound of the offset
  std::int64_t most_ns = std::numeric_limits<std::int64_t>::max();

  std::int64_t end_difference_ns(double share) const {
    const auto last = static_cast<double>(end_differences_ns.size() - 1);
    return end_differences_ns[static_cast<std::size_t>(share * last + 0.5)];
  }
};

Evidence evidence_of(const ingest::LoadedShard& shard, const ingest::LoadedShard& reference) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, const ingest::CollectiveFact*> theirs;
  for (const ingest::CollectiveFact& fact : reference.trace.collectives)
    if (fact.start_ns && fact.end_ns) theirs.emplace(std::pair(fact.communicator, fact.sequence), &fact);
  Evidence found;
  for (const ingest::CollectiveFact& fact : shard.trace.collectives) {
    if (!fact.start_ns || !fact.end_ns) continue;
    const auto other = theirs.find({fact.communicator, fact.sequence});
    if (other == theirs.end()) continue;
    found.end_differences_ns.push_back(*other->second->end_ns - *fact.end_ns);
    found.least_ns = std::max(found.least_ns, *other->second->start_ns - *fact.end_ns);
    // The root of a broadcast does not wait for the receivers, so it gives no upper bound.
    if (fact.op != static_cast<std::int32_t>(vocabulary::CollectiveOp::broadcast))
      found.most_ns = std::min(found.most_ns, *other->second->end_ns - *fact.start_ns);
  }
  std::sort(found.end_differences_ns.begin(), found.end_differences_ns.end());
  return found;
}

std::int64_t usual_step_ns(const ingest::LoadedShard& shard) {
  std::vector<std::int64_t> steps_ns;
  for (const ingest::StepFact& step : shard.trace.steps) steps_ns.push_back(step.time.end_ns - step.time.start_ns);
  if (steps_ns.empty()) return std::numeric_limits<std::int64_t>::max();
  std::sort(steps_ns.begin(), steps_ns.end());
  return steps_ns[steps_ns.size() / 2];
}

// A profiler's times count from 1970 if the file has a base time, or if they are that large themselves.
std::optional<std::int64_t> wall_offset_ns(const ingest::LoadedShard& shard, const RankClock& clock,
                                           const ingest::LoadedShard& reference, const RankClock& of_reference) {
  constexpr std::int64_t year_2001_ns = 1'000'000'000'000'000'000;
  const auto has_time_of_day = [](const ingest::LoadedShard& of, const RankClock& its) {
    return its.base_ns > 0 || of.trace.events.first_ns > year_2001_ns;
  };
  if (!has_time_of_day(shard, clock) || !has_time_of_day(reference, of_reference)) return std::nullopt;
  return clock.base_ns - of_reference.base_ns;
}

// Aligns ranks that share no group with rank 0 through a rank that does: both offsets and both uncertainties add up. Of
// several ways the one with the smallest uncertainty is taken; above half a step it is not used.
void align_through_others(std::vector<ingest::LoadedShard>& shards, const std::vector<RankClock>& clocks) {
  for (bool more = true; more;) {
    more = false;
    std::map<std::uint64_t, std::size_t> aligned;  // of each communicator, the rank whose offset is known best
    for (std::size_t i = 0; i < shards.size(); ++i) {
      if (!shards[i].clock->uncertainty_ns) continue;
      for (const ingest::CollectiveFact& fact : shards[i].trace.collectives) {
        const auto [best, first] = aligned.emplace(fact.communicator, i);
        if (*shards[i].clock->uncertainty_ns < *shards[best->second].clock->uncertainty_ns) best->second = i;
      }
    }
    for (std::size_t i = 0; i < shards.size(); ++i) {
      if (shards[i].clock->uncertainty_ns) continue;
      std::set<std::uint64_t> own;
      for (const ingest::CollectiveFact& fact : shards[i].trace.collectives) own.insert(fact.communicator);
      std::optional<store::ClockAlignment> best;
      for (const std::uint64_t communicator : own) {
        const auto through = aligned.find(communicator);
        if (through == aligned.end()) continue;
        const ingest::LoadedShard& other = shards[through->second];
        store::ClockAlignment alignment = align_by_collectives(
            shards[i], other, wall_offset_ns(shards[i], clocks[i], other, clocks[through->second]));
        if (!alignment.uncertainty_ns) continue;
        alignment.offset_ns += other.clock->offset_ns;
        *alignment.uncertainty_ns += *other.clock->uncertainty_ns;
        if (alignment.measured_offset_ns) *alignment.measured_offset_ns += other.clock->offset_ns;
        if (!best || *alignment.uncertainty_ns < *best->uncertainty_ns) best = alignment;
      }
      if (!best || *best->uncertainty_ns > usual_step_ns(shards[i]) / 2) continue;
      shards[i].clock = best;
      more = true;
    }
  }
}

}  // namespace

store::ClockAlignment align_by_collectives(const ingest::LoadedShard& shard, const ingest::LoadedShard& reference,
                                           std::optional<std::int64_t> wall_offset_ns) {
  store::ClockAlignment alignment;
  const Evidence found = evidence_of(shard, reference);
  if (found.end_differences_ns.size() < 3) return alignment;
  const std::int64_t step_ns = usual_step_ns(shard);
  const std::int64_t ends_ns = found.end_difference_ns(0.5);
  const std::int64_t spread_ns = (found.end_difference_ns(0.95) - found.end_difference_ns(0.05)) / 2;
  alignment.measured_offset_ns = ends_ns;
  // The clocks drift apart, or the matched collectives are not the same ones.
  if (found.least_ns > found.most_ns) return alignment;
  const auto within = [&](std::int64_t offset_ns) { return found.least_ns <= offset_ns && offset_ns <= found.most_ns; };
  const auto set_offset = [&](std::int64_t offset_ns, std::int64_t uncertainty_ns) {
    alignment.reference = store::ClockReference::exchange;
    alignment.offset_ns = offset_ns;
    alignment.at_ns = shard.trace.events.first_ns;
    alignment.uncertainty_ns = uncertainty_ns;
  };
  const auto bound_ns = [&](std::int64_t offset_ns) {
    return std::max(offset_ns - found.least_ns, found.most_ns - offset_ns);
  };
  if (within(ends_ns) && spread_ns <= step_ns / 10)
    set_offset(ends_ns, std::min(std::max<std::int64_t>(spread_ns, 1), bound_ns(ends_ns)));
  else if (wall_offset_ns && within(*wall_offset_ns) && bound_ns(*wall_offset_ns) <= step_ns / 2)
    set_offset(*wall_offset_ns, bound_ns(*wall_offset_ns));
  return alignment;
}

void align_ranks(std::vector<ingest::LoadedShard>& shards, const std::vector<RankClock>& clocks) {
  const auto found = std::ranges::find(shards, 0, &ingest::LoadedShard::rank);
  const auto reference = static_cast<std::size_t>(found - shards.begin());
  std::map<std::string, store::ClockAlignment> best;  // by clock
  for (std::size_t i = 0; i < shards.size(); ++i) {
    ingest::LoadedShard& shard = shards[i];
    if (found == shards.end() || clocks[i].name == clocks[reference].name) {
      shard.clock = store::align_clock({}, true);
      continue;
    }
    shard.clock = align_by_collectives(shard, *found, wall_offset_ns(shard, clocks[i], *found, clocks[reference]));
    const auto [of_clock, first] = best.try_emplace(clocks[i].name, *shard.clock);
    const std::optional<std::int64_t>&own_ns = shard.clock->uncertainty_ns, &best_ns = of_clock->second.uncertainty_ns;
    if (own_ns && (!best_ns || *own_ns < *best_ns)) of_clock->second = *shard.clock;
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto of_clock = best.find(clocks[i].name);
    if (of_clock == best.end()) continue;
    const std::optional<std::int64_t> own_ns = shards[i].clock->measured_offset_ns;
    shards[i].clock = of_clock->second;
    shards[i].clock->measured_offset_ns = own_ns;
  }
  align_through_others(shards, clocks);
}

}  // namespace ddpprof::import
