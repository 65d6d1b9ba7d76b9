#include "analysis/fit/sharded/sharded_job.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/fit/measured/exposed_waits.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::fit {
namespace {

// Steps that were timed without the profiler have the step's duration, if there are any.
void add_run_steps(SQLite::Database& sql, std::int64_t measurement, ShardedRanks& ranks) {
  SQLite::Statement query(
      sql,
      "SELECT st.kind = 'untraced', AVG(st.duration_ns), AVG(st.optimizer_ns), AVG(st.exposed_ns), st.step, COUNT(*), "
      "AVG(st.compute_ns) "
      "FROM step st JOIN shard sh ON sh.id = st.shard_id WHERE sh.measurement_id = ? "
      "AND st.kind IN ('measured', 'untraced') GROUP BY st.kind, st.step ORDER BY st.step");
  query.bind(1, measurement);
  std::map<std::int64_t, double> waits_ns;  // by step, the sum over the ranks
  for (const ExposedWait& wait : exposed_waits(sql, measurement))
    if (wait.kind == "measured") waits_ns[wait.step] += static_cast<double>(wait.wait_ns);
  std::vector<double> traced_s, untraced_s;
  while (query.executeStep()) {
    const bool untraced = query.getColumn(0).getInt() != 0;
    (untraced ? untraced_s : traced_s).push_back(units::ns_to_s(query.getColumn(1).getDouble()));
    if (untraced) continue;
    ranks.optimizer_s.push_back(units::ns_to_s(query.getColumn(2).getDouble()));
    ranks.compute_s.push_back(units::ns_to_s(query.getColumn(6).getDouble()));
    ranks.exposed_s.push_back(units::ns_to_s(query.getColumn(3).getDouble()));
    ranks.skew_s.push_back(units::ns_to_s(waits_ns[query.getColumn(4).getInt64()] / query.getColumn(5).getDouble()));
  }
  if (traced_s.empty()) return;  // without parts
  const std::vector<double>& timed_s = untraced_s.empty() ? traced_s : untraced_s;
  ranks.steps_s.insert(ranks.steps_s.end(), timed_s.begin(), timed_s.end());
}

void add_bytes(SQLite::Database& sql, std::int64_t measurement, ShardedRanks& ranks) {
  SQLite::Statement query(
      sql,
      "SELECT COALESCE(SUM(CASE WHEN w.unit IS NULL THEN 0 ELSE c.bytes END), 0), COALESCE(SUM(CASE WHEN w.unit IS "
      "NULL THEN c.bytes ELSE 0 END), 0) FROM collective c JOIN step st ON st.id = c.step_id JOIN shard sh ON sh.id = "
      "st.shard_id LEFT JOIN sharded_work w ON w.step_id = st.id AND w.communicator = c.communicator AND w.sequence = "
      "c.sequence WHERE sh.measurement_id = ? AND st.kind = 'measured'");
  query.bind(1, measurement);
  if (!query.executeStep()) return;
  ranks.unit_bytes += query.getColumn(0).getDouble();
  ranks.other_bytes += query.getColumn(1).getDouble();
}

// Unknown values equal all values, and become known.
template <class Value>
bool agree(std::optional<Value>& known, const std::optional<Value>& other) {
  if (!known) known = other;
  return !other || known == other;
}

bool agree(std::vector<UnitTimes>& known, const std::vector<UnitTimes>& other) {
  if (known.size() != other.size()) return false;
  for (std::size_t i = 0; i < known.size(); ++i) {
    UnitTimes& unit = known[i];
    if (unit.name != other[i].name || !agree(unit.parameters, other[i].parameters) ||
        !agree(unit.gathered_element_bytes, other[i].gathered_element_bytes) ||
        !agree(unit.scattered_element_bytes, other[i].scattered_element_bytes) ||
        !agree(unit.gathers_again, other[i].gathers_again))
      return false;
  }
  return true;
}

// Returns what differs from the job; empty: the measurement belongs to it, and `units` has the values known of both.
std::string difference(const ShardedJob& job, std::vector<UnitTimes>& units, const ShardedJob& one,
                       const std::vector<UnitTimes>& units_of_one) {
  if (one.model != job.model) return "another model";
  if (one.device != job.device) return "another device";
  if (one.backend != job.backend && !one.backend.empty() && !job.backend.empty()) return "another backend";
  if (one.batch_per_worker != job.batch_per_worker) return "another batch per worker";
  if (one.accumulation != job.accumulation) return "another accumulation";
  if (one.optimizer != job.optimizer && !one.optimizer.empty() && !job.optimizer.empty()) return "another optimizer";
  std::vector<UnitTimes> merged = units;
  if (!agree(merged, units_of_one))
    return "other sharded units (names, parameters, element types, gathers in the backward)";
  units = std::move(merged);
  return "";
}

// Why a measurement with sharded units has another strategy. Empty: its units are not annotated.
std::string why_not_predicted(SQLite::Database& sql, std::int64_t measurement) {
  SQLite::Statement query(
      sql,
      "SELECT message FROM diagnostic WHERE measurement_id = ? AND code IN ('sharded_units_differ', "
      "'not_data_parallel') ORDER BY rowid LIMIT 1");
  query.bind(1, measurement);
  return query.executeStep() ? query.getColumn(0).getString() : "";
}

// HSDP: the units reduce over replicas, and are sharded over the ranks of a group. All ranks if the groups are not
// equal, or not known.
std::int64_t shards_of(const ShardedRanks& ranks) {
  std::optional<std::int64_t> shards;
  for (const UnitTimes& unit : ranks.units) {
    if (unit.gathered_bytes == 0) continue;
    if (!unit.ranks || unit.replicas.calls == 0 || *unit.ranks < 1 || ranks.workers % *unit.ranks != 0 ||
        (shards && *shards != *unit.ranks))
      return ranks.workers;
    shards = unit.ranks;
  }
  return shards.value_or(ranks.workers);
}

using ByPlace = std::map<std::pair<std::int64_t, std::int64_t>, ShardedRanks>;  // by N and hosts

std::string other_threads_than(std::int64_t measurement) {
  return "it has another number of threads per rank than measurement " + std::to_string(measurement);
}

// Adds ranks with other threads than the job's if their N has no other measurement.
void add_other_threads(ByPlace& found, ByPlace& others, std::int64_t first, ShardedJob& job) {
  for (auto& [place, ranks] : others)
    if (const auto& [known, added] = found.try_emplace(place, ranks); !added)
      for (const std::int64_t id : ranks.measurements) job.left_out[id] = other_threads_than(first);
}

}  // namespace

ShardedJob sharded_job(SQLite::Database& sql) {
  ShardedJob job;
  ByPlace found, of_other_threads;
  std::vector<UnitTimes> units;
  SQLite::Statement query(
      sql,
      "SELECT id, world_size, nodes, model, device, backend, batch_per_worker, accumulation, threads_per_rank, cores, "
      "strategy, COALESCE(CASE WHEN json_valid(options) THEN json_extract(options, '$.optimizer') END, '') FROM "
      "measurement m WHERE status <> 'failed' AND EXISTS (SELECT 1 FROM sharded_unit u "
      "WHERE u.measurement_id = m.id) ORDER BY world_size = 1, id");
  std::int64_t first = 0;
  while (query.executeStep()) {
    const std::int64_t id = query.getColumn(0).getInt64();
    if (query.getColumn(10).getString() != "fsdp") {
      if (const std::string why = why_not_predicted(sql, id); !why.empty()) job.left_out[id] = why;
      continue;
    }
    ShardedJob one;
    one.model = query.getColumn(3).getString();
    one.device = query.getColumn(4).getString();
    one.backend = query.getColumn(5).getString();
    one.batch_per_worker = query.getColumn(6).getInt64();
    one.accumulation = query.getColumn(7).getInt64();
    one.threads_per_rank = query.getColumn(8).getInt64();
    one.cores = query.getColumn(9).getInt64();
    one.optimizer = query.getColumn(11).getString();
    std::vector<UnitTimes> units_of_one = sharded_units_alone(sql, id);
    if (first == 0) {
      first = id;
      one.left_out = std::move(job.left_out);
      job = std::move(one);
      units = std::move(units_of_one);
    } else if (const std::string what = difference(job, units, one, units_of_one); !what.empty()) {
      job.left_out[id] = what + " than measurement " + std::to_string(first);
      continue;
    } else {
      job.cores = std::max(job.cores, one.cores);
      if (job.backend.empty()) job.backend = one.backend;
      if (job.optimizer.empty()) job.optimizer = one.optimizer;
    }
    const std::int64_t workers = query.getColumn(1).getInt64(), nodes = query.getColumn(2).getInt64();
    const std::int64_t threads = query.getColumn(8).getInt64();
    ShardedRanks& ranks = (job.has_threads(threads) ? found : of_other_threads)[{workers, nodes}];
    if (!ranks.measurements.empty() && !job.has_threads(threads) && ranks.threads != threads) {
      job.left_out[id] = other_threads_than(ranks.measurements.front());
      continue;
    }
    ranks.workers = workers;
    ranks.nodes = nodes;
    ranks.threads = threads;
    if (job.device == "cpu" && ranks.per_host() * threads > query.getColumn(9).getInt64()) ranks.shares_cores = true;
    ranks.measurements.push_back(id);
    add_run_steps(sql, id, ranks);
    add_bytes(sql, id, ranks);
  }
  add_other_threads(found, of_other_threads, first, job);
  for (auto& [key, ranks] : found) {
    if (ranks.steps_s.empty()) continue;
    ranks.units = sharded_units(sql, ranks.measurements);
    ranks.shards = shards_of(ranks);
    job.measured.push_back(std::move(ranks));
  }
  return job;
}

std::vector<UnitCollectiveTime> unit_collectives(SQLite::Database& sql, std::span<const ShardedRanks* const> measured,
                                                 const char* action) {
  std::vector<UnitCollectiveTime> all;
  for (const ShardedRanks* ranks : measured) {
    const std::int64_t group = std::string_view(action) == "all_reduce" ? ranks->replicas() : ranks->shards;
    if (group < 2) continue;
    if (const auto planned = ranks->planned.find(action); planned != ranks->planned.end())
      all.insert(all.end(), planned->second.begin(), planned->second.end());
    std::map<std::int64_t, std::vector<double>> by_bytes;
    for (const std::int64_t measurement : ranks->measurements) {
      SQLite::Statement query(
          sql,
          "SELECT w.bytes, COALESCE(c.transfer_ns, w.end_ns - w.start_ns) FROM sharded_work w JOIN "
          "step st ON st.id = w.step_id JOIN shard sh ON sh.id = st.shard_id LEFT JOIN collective c "
          "ON c.shard_id = sh.id AND c.communicator = w.communicator AND c.sequence = w.sequence "
          "WHERE sh.measurement_id = ? AND st.kind = 'measured' AND w.action = ? AND w.bytes > 0");
      query.bind(1, measurement);
      query.bind(2, action);
      while (query.executeStep())
        by_bytes[query.getColumn(0).getInt64()].push_back(units::ns_to_s(query.getColumn(1).getDouble()));
    }
    for (const auto& [bytes, seconds] : by_bytes)
      all.push_back({group, static_cast<double>(bytes), stats::median(seconds)});
  }
  return all;
}

}  // namespace ddpprof::fit
