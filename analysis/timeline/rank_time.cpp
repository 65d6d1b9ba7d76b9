#include <map>
#include <vector>

#include "analysis/ingest/busy.hpp"
#include "analysis/timeline/draft.hpp"
#include "tracer/store/rows/queries.hpp"

namespace ddpprof::timeline {
namespace {

using ingest::Interval;
using ingest::IntervalSet;

struct StepInWork {
  ingest::StepFacts facts;
  std::vector<ingest::CollectiveFact> collectives;
};

std::map<std::int64_t, StepInWork> read_steps(store::StepReader& rows, const Rank& rank) {
  std::map<std::int64_t, StepInWork> steps;
  const auto aligned = [&](std::int64_t local_ns) { return store::to_reference_ns(rank.alignment, local_ns); };
  for (const store::StepRow& row : rows.steps(rank.shard)) {
    const std::int64_t id = row.id.value_or(0), start = row.start_ns;
    const std::vector<store::PhaseRow> phases = rows.phases(id);
    if (phases.empty()) continue;
    ingest::StepFacts& facts = steps[id].facts;
    facts.time = {aligned(start), aligned(start + row.duration_ns)};
    for (const store::PhaseRow& phase : phases) {
      ingest::PhaseFact fact;
      fact.name = trace::phase_named(phase.name);
      const std::int64_t from = start + phase.start_ns;
      fact.time = {aligned(from), aligned(from + phase.duration_ns)};
      facts.phases.push_back(fact);
    }
    for (const store::GradReadyRow& gradient : rows.gradients(id))
      facts.grads.push_back({gradient.parameter, aligned(start + gradient.ready_ns)});
  }
  return steps;
}

}  // namespace

RankTime read_rank_time(SQLite::Database& db, const Rank& rank) {
  store::StepReader rows(db);
  std::map<std::int64_t, StepInWork> steps = read_steps(rows, rank);
  const auto aligned = [&](std::int64_t local_ns) { return store::to_reference_ns(rank.alignment, local_ns); };
  std::vector<Interval> in_flight, waits;
  for (const store::CollectiveRow& row : rows.collectives_of_shard(rank.shard)) {
    ingest::CollectiveFact fact;
    fact.launch_ns = aligned(row.launch_ns);
    if (row.start_ns) fact.start_ns = aligned(*row.start_ns);
    if (row.end_ns) fact.end_ns = aligned(*row.end_ns);
    if (fact.start_ns && fact.end_ns) in_flight.push_back({*fact.start_ns, *fact.end_ns});
    if (fact.start_ns && row.skew_ns) waits.push_back({*fact.start_ns, *fact.start_ns + *row.skew_ns});
    if (!row.step_id) continue;
    const auto step = steps.find(*row.step_id);
    if (step != steps.end()) step->second.collectives.push_back(fact);
  }
  const IntervalSet flying = ingest::unite(std::move(in_flight)), waiting = ingest::unite(std::move(waits));
  std::vector<Interval> known, compute, communication, skew;
  const auto add = [](std::vector<Interval>& all, const IntervalSet& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  for (auto& [id, step] : steps) {
    for (const ingest::CollectiveFact& fact : step.collectives) step.facts.collectives.push_back(&fact);
    const Interval window = step.facts.time;
    known.push_back(window);
    add(compute, ingest::clip(ingest::host_compute(step.facts), window));
    add(communication, ingest::clip(flying, window));
    add(communication, ingest::clip(ingest::host_copies(step.facts), window));
    add(skew, ingest::clip(waiting, window));
  }
  return {ingest::unite(std::move(known)), ingest::unite(std::move(compute)), ingest::unite(std::move(communication)),
          ingest::unite(std::move(skew))};
}

}  // namespace ddpprof::timeline
