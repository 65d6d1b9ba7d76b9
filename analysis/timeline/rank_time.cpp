#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <map>

#include "analysis/ingest/busy.hpp"
#include "analysis/timeline/draft.hpp"

namespace ddpprof::timeline {
namespace {

using ingest::Interval;
using ingest::IntervalSet;

struct StepInWork {
  ingest::StepFacts facts;
  std::vector<ingest::CollectiveFact> collectives;
};

std::map<std::int64_t, StepInWork> read_steps(SQLite::Database& db, const Rank& rank) {
  std::map<std::int64_t, StepInWork> steps;
  const auto aligned = [&](std::int64_t local_ns) { return store::to_reference_ns(rank.alignment, local_ns); };
  SQLite::Statement phases(db,
                           "SELECT st.id, st.start_ns, st.duration_ns, p.name, p.lane, p.start_ns, p.duration_ns "
                           "FROM step st JOIN phase p ON p.step_id = st.id WHERE st.shard_id = ?");
  phases.bind(1, rank.shard);
  while (phases.executeStep()) {
    StepInWork& step = steps[phases.getColumn(0).getInt64()];
    const std::int64_t start = phases.getColumn(1).getInt64();
    step.facts.time = {aligned(start), aligned(start + phases.getColumn(2).getInt64())};
    ingest::PhaseFact fact;
    fact.name = vocabulary::phase_named(phases.getColumn(3).getString());
    const std::int64_t from = start + phases.getColumn(5).getInt64();
    fact.time = {aligned(from), aligned(from + phases.getColumn(6).getInt64())};
    step.facts.phases.push_back(fact);
  }
  SQLite::Statement gradients(db,
                              "SELECT g.step_id, st.start_ns + g.ready_ns, g.parameter FROM step st "
                              "JOIN grad_ready g ON g.step_id = st.id WHERE st.shard_id = ?");
  gradients.bind(1, rank.shard);
  while (gradients.executeStep()) {
    const auto step = steps.find(gradients.getColumn(0).getInt64());
    if (step != steps.end())
      step->second.facts.grads.push_back(
          {gradients.getColumn(2).getInt64(), aligned(gradients.getColumn(1).getInt64())});
  }
  return steps;
}

}  // namespace

RankTime read_rank_time(SQLite::Database& db, const Rank& rank) {
  std::map<std::int64_t, StepInWork> steps = read_steps(db, rank);
  const auto aligned = [&](std::int64_t local_ns) { return store::to_reference_ns(rank.alignment, local_ns); };
  std::vector<Interval> in_flight, waits;
  SQLite::Statement row(db, "SELECT step_id, launch_ns, start_ns, end_ns, skew_ns FROM collective WHERE shard_id = ?");
  row.bind(1, rank.shard);
  while (row.executeStep()) {
    ingest::CollectiveFact fact;
    fact.launch_ns = aligned(row.getColumn(1).getInt64());
    if (!row.getColumn(2).isNull()) fact.start_ns = aligned(row.getColumn(2).getInt64());
    if (!row.getColumn(3).isNull()) fact.end_ns = aligned(row.getColumn(3).getInt64());
    if (fact.start_ns && fact.end_ns) in_flight.push_back({*fact.start_ns, *fact.end_ns});
    if (fact.start_ns && !row.getColumn(4).isNull())
      waits.push_back({*fact.start_ns, *fact.start_ns + row.getColumn(4).getInt64()});
    if (row.getColumn(0).isNull()) continue;
    const auto step = steps.find(row.getColumn(0).getInt64());
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
