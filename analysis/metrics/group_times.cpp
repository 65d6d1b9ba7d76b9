#include "analysis/metrics/group_times.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "analysis/ingest/busy.hpp"
#include "analysis/ingest/host_operations.hpp"
#include "analysis/ingest/intervals.hpp"
#include "tracer/store/rows/queries.hpp"

namespace ddpprof::metrics {
namespace {

struct GroupCollective {
  std::int64_t communicator = 0;
  std::string op;
  ingest::Interval time;
  std::int64_t launch_ns = 0;
  ingest::Interval wait;  // on hosts: all threads of the rank wait for it
};

std::vector<GroupCollective> read_collectives(SQLite::Database& db, std::int64_t shard) {
  std::vector<GroupCollective> all;
  SQLite::Statement query(db,
                          "SELECT communicator, op, start_ns, end_ns, launch_ns FROM collective WHERE shard_id = ? AND "
                          "start_ns IS NOT NULL AND end_ns > start_ns");
  query.bind(1, shard);
  while (query.executeStep())
    all.push_back({query.getColumn(0).getInt64(),
                   query.getColumn(1).getString(),
                   {query.getColumn(2).getInt64(), query.getColumn(3).getInt64()},
                   query.getColumn(4).getInt64(),
                   {}});
  return all;
}

ingest::IntervalSet read_step_times(SQLite::Database& db, std::int64_t shard, std::int64_t& count) {
  std::vector<ingest::Interval> steps;
  SQLite::Statement query(db, "SELECT start_ns, duration_ns FROM step WHERE shard_id = ? AND kind = 'measured'");
  query.bind(1, shard);
  while (query.executeStep()) {
    const std::int64_t start_ns = query.getColumn(0).getInt64();
    steps.push_back({start_ns, start_ns + query.getColumn(1).getInt64()});
  }
  count = static_cast<std::int64_t>(steps.size());
  return ingest::unite(std::move(steps));
}

// The union of the kernels that belong to no collective. A kernel whose name is used for both belongs to the collective
// that begins with it.
ingest::IntervalSet computing_kernels(SQLite::Database& db, std::int64_t shard,
                                      const std::vector<GroupCollective>& collectives) {
  std::set<std::int64_t> communicating, computing, starts_ns;
  SQLite::Statement names(db,
                          "SELECT name_id, kind FROM kernel_summary WHERE shard_id = ? AND kind IN ('communication', "
                          "'compute')");
  names.bind(1, shard);
  while (names.executeStep())
    (names.getColumn(1).getString() == "compute" ? computing : communicating).insert(names.getColumn(0).getInt64());
  for (const GroupCollective& one : collectives) starts_ns.insert(one.time.start_ns);
  ingest::IntervalSet compute;
  SQLite::Statement kernels(db, "SELECT start_ns, end_ns, name_id FROM kernel WHERE shard_id = ? ORDER BY start_ns");
  kernels.bind(1, shard);
  while (kernels.executeStep()) {
    const ingest::Interval time{kernels.getColumn(0).getInt64(), kernels.getColumn(1).getInt64()};
    const std::int64_t name = kernels.getColumn(2).getInt64();
    if (communicating.contains(name) && (!computing.contains(name) || starts_ns.contains(time.start_ns))) continue;
    ingest::append(compute, time);
  }
  return compute;
}

// Selects the operations of a host's threads that compute. These do not: operations on the threads of a backend, which
// copy and divide tensors inside of a collective, and operations around the call of a collective, which may wait for
// it.
class HostOperations {
 public:
  HostOperations(SQLite::Database& db, std::int64_t shard) : find_(db, "SELECT value FROM string WHERE id = ?") {
    std::set<std::int64_t> running;
    SQLite::Statement query(
        db,
        "SELECT r.tid, r.start_ns, r.end_ns, s.value LIKE 'c10d::%' FROM range r JOIN string s ON "
        "s.id = r.name_id WHERE r.shard_id = ? AND (s.value LIKE 'c10d::%' OR s.value LIKE "
        "'gloo:%' OR s.value LIKE 'mpi:%' OR s.value LIKE 'ucc:%') AND r.end_ns IS NOT NULL ORDER BY r.start_ns");
    query.bind(1, shard);
    while (query.executeStep()) {
      const std::int64_t tid = query.getColumn(0).getInt64();
      if (query.getColumn(3).getInt() == 0)
        running.insert(tid);
      else
        calls_[tid].push_back({query.getColumn(1).getInt64(), query.getColumn(2).getInt64()});
    }
    for (const std::int64_t tid : running)
      if (!calls_.contains(tid)) backend_threads_.insert(tid);
  }

  bool compute(std::int64_t tid, std::int64_t name, const ingest::Interval& time) {
    if (backend_threads_.contains(tid) || !named_as_compute(name)) return false;
    const auto thread = calls_.find(tid);
    if (thread == calls_.end()) return true;
    const auto first = std::ranges::lower_bound(thread->second, time.start_ns, {}, &ingest::Interval::start_ns);
    return first == thread->second.end() || first->end_ns > time.end_ns;
  }

 private:
  bool named_as_compute(std::int64_t name) {
    const auto [found, fresh] = computes_.try_emplace(name, false);
    if (fresh) {
      find_.reset();
      find_.bind(1, name);
      found->second = find_.executeStep() && ingest::computes(find_.getColumn(0).getString());
    }
    return found->second;
  }

  SQLite::Statement find_;
  std::map<std::int64_t, std::vector<ingest::Interval>> calls_;  // by thread and start
  std::set<std::int64_t> backend_threads_;
  std::unordered_map<std::int64_t, bool> computes_;  // by name
};

// Sets the waits for collectives that the host executes, as the import finds them (busy_host.hpp). Returns false if no
// operation was recorded.
bool find_waits(SQLite::Database& db, std::int64_t shard, std::vector<GroupCollective>& collectives) {
  std::ranges::sort(collectives, {}, [](const GroupCollective& one) { return one.time.end_ns; });
  HostOperations operations(db, shard);
  SQLite::Statement ranges(db,
                           "SELECT start_ns, end_ns, tid, name_id FROM range WHERE shard_id = ? AND end_ns IS NOT NULL "
                           "AND domain_id = (SELECT id FROM string WHERE value = 'operation') ORDER BY start_ns");
  ranges.bind(1, shard);
  bool more = ranges.executeStep();
  if (!more) return false;
  std::int64_t busy_until_ns = INT64_MIN;
  for (GroupCollective& one : collectives) {
    for (; more && ranges.getColumn(0).getInt64() < one.time.end_ns; more = ranges.executeStep()) {
      const ingest::Interval time{ranges.getColumn(0).getInt64(), ranges.getColumn(1).getInt64()};
      if (time.end_ns > busy_until_ns &&
          operations.compute(ranges.getColumn(2).getInt64(), ranges.getColumn(3).getInt64(), time))
        busy_until_ns = time.end_ns;
    }
    one.wait = {std::max(one.launch_ns, busy_until_ns), one.time.end_ns};
  }
  return true;
}

// Returns when the host computes in measured steps with phases, by the rule of the steps' own exposed communication;
// nullopt if no step has phases.
std::optional<ingest::IntervalSet> computing_host(SQLite::Database& db, std::int64_t shard,
                                                  const std::vector<GroupCollective>& collectives) {
  store::StepReader rows(db);
  std::map<std::int64_t, std::vector<ingest::CollectiveFact>> of_step;
  for (const store::CollectiveRow& row : rows.collectives_of_shard(shard)) {
    if (!row.step_id) continue;
    ingest::CollectiveFact& fact = of_step[*row.step_id].emplace_back();
    fact.launch_ns = row.launch_ns;
    fact.end_ns = row.end_ns;
  }
  std::vector<ingest::Interval> busy, waits;
  bool phases = false;
  for (const store::StepRow& row : rows.steps(shard)) {
    if (row.kind != "measured") continue;
    const std::int64_t id = row.id.value_or(0), start_ns = row.start_ns;
    ingest::StepFacts facts;
    facts.time = {start_ns, start_ns + row.duration_ns};
    for (const store::PhaseRow& phase : rows.phases(id)) {
      ingest::PhaseFact& fact = facts.phases.emplace_back();
      fact.name = trace::phase_named(phase.name);
      fact.time = {start_ns + phase.start_ns, start_ns + phase.start_ns + phase.duration_ns};
      phases = phases || fact.name == ingest::PhaseName::forward || fact.name == ingest::PhaseName::backward;
    }
    for (const store::GradReadyRow& gradient : rows.gradients(id))
      facts.grads.push_back({gradient.parameter, start_ns + gradient.ready_ns});
    for (const ingest::CollectiveFact& fact : of_step[id]) facts.collectives.push_back(&fact);
    const ingest::IntervalSet step = ingest::clip(ingest::host_compute(facts), facts.time);
    busy.insert(busy.end(), step.begin(), step.end());
  }
  if (!phases) return std::nullopt;
  for (const GroupCollective& one : collectives) waits.push_back(one.wait);
  return ingest::subtract(ingest::unite(std::move(busy)), ingest::unite(std::move(waits)));
}

// The intervals of some collectives.
struct Times {
  std::vector<ingest::Interval> all, waits;

  void add(const GroupCollective& one) {
    all.push_back(one.time);
    waits.push_back({std::max(one.time.start_ns, one.wait.start_ns), one.wait.end_ns});
  }
  // Without `compute`, communication is exposed while all threads wait for it.
  Communicated sums(const ingest::IntervalSet& steps, const std::optional<ingest::IntervalSet>& compute) const {
    const ingest::IntervalSet communication = ingest::intersect(ingest::unite(all), steps);
    const ingest::IntervalSet alone =
        compute ? ingest::subtract(communication, *compute) : ingest::intersect(ingest::unite(waits), steps);
    return {ingest::total_ns(communication), ingest::total_ns(alone)};
  }
};

bool between_stages(const std::string& op) { return op == "send" || op == "receive"; }

}  // namespace

std::vector<RankCommunication> rank_communication(SQLite::Database& db) {
  std::vector<RankCommunication> ranks;
  SQLite::Statement shards(db,
                           "SELECT sh.id, sh.measurement_id, sh.rank, EXISTS (SELECT 1 FROM kernel k WHERE k.shard_id "
                           "= sh.id) FROM shard sh JOIN measurement m ON m.id = sh.measurement_id WHERE m.kind = "
                           "'import' AND sh.raw_kept = 1 ORDER BY sh.measurement_id, sh.rank");
  while (shards.executeStep()) {
    const std::int64_t shard = shards.getColumn(0).getInt64();
    RankCommunication rank;
    rank.measurement = shards.getColumn(1).getInt64();
    rank.rank = shards.getColumn(2).getInt64();
    const ingest::IntervalSet steps = read_step_times(db, shard, rank.steps);
    std::vector<GroupCollective> collectives = read_collectives(db, shard);
    if (steps.empty() || collectives.empty()) continue;
    std::optional<ingest::IntervalSet> kernels, compute;
    if (shards.getColumn(3).getInt() != 0) {
      compute = kernels = computing_kernels(db, shard, collectives);
    } else {
      if (!find_waits(db, shard, collectives)) continue;
      compute = computing_host(db, shard, collectives);
    }
    std::map<std::int64_t, Times> groups;
    std::map<std::pair<std::int64_t, std::string>, Times> operations;
    Times stages;
    for (const GroupCollective& one : collectives) {
      groups[one.communicator].add(one);
      operations[{one.communicator, one.op}].add(one);
      if (between_stages(one.op)) stages.add(one);
    }
    for (const auto& [group, times] : groups) rank.groups.emplace(group, times.sums(steps, compute));
    for (const auto& [operation, times] : operations) rank.operations.emplace(operation, times.sums(steps, compute));
    rank.stages = stages.sums(steps, kernels);
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

}  // namespace ddpprof::metrics
