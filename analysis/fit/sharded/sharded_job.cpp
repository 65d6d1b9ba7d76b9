#include "analysis/fit/sharded/sharded_job.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::fit {
namespace {

// Steps that were timed without the profiler have the step's duration, if there are any.
void add_run_steps(SQLite::Database& sql, std::int64_t measurement, ShardedRanks& ranks) {
  SQLite::Statement query(
      sql,
      "SELECT st.kind = 'untraced', AVG(st.duration_ns), AVG(st.optimizer_ns), AVG(st.exposed_ns), "
      "AVG(st.skew_ns) FROM step st JOIN shard sh ON sh.id = st.shard_id WHERE sh.measurement_id = ? "
      "AND st.kind IN ('measured', 'untraced') GROUP BY st.kind, st.step ORDER BY st.step");
  query.bind(1, measurement);
  std::vector<double> traced_s, untraced_s;
  while (query.executeStep()) {
    const bool untraced = query.getColumn(0).getInt() != 0;
    (untraced ? untraced_s : traced_s).push_back(units::ns_to_s(query.getColumn(1).getDouble()));
    if (untraced) continue;
    int column = 2;
    for (std::vector<double>* values : {&ranks.optimizer_s, &ranks.exposed_s, &ranks.skew_s})
      values->push_back(units::ns_to_s(query.getColumn(column++).getDouble()));
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

}  // namespace

ShardedJob sharded_job(SQLite::Database& sql) {
  ShardedJob job;
  std::map<std::int64_t, ShardedRanks> by_workers;
  SQLite::Statement query(
      sql,
      "SELECT id, world_size, nodes, model, device, batch_per_worker, accumulation, threads_per_rank, "
      "cores, COALESCE(CASE WHEN json_valid(options) THEN json_extract(options, '$.optimizer') END, '') FROM "
      "measurement m WHERE "
      "status <> 'failed' AND strategy = 'fsdp' AND EXISTS (SELECT 1 FROM sharded_unit u WHERE u.measurement_id = "
      "m.id) ORDER BY id");
  bool first = true;
  while (query.executeStep()) {
    ShardedJob one;
    one.model = query.getColumn(3).getString();
    one.device = query.getColumn(4).getString();
    one.batch_per_worker = query.getColumn(5).getInt64();
    one.accumulation = query.getColumn(6).getInt64();
    one.threads_per_rank = query.getColumn(7).getInt64();
    one.cores = query.getColumn(8).getInt64();
    one.optimizer = query.getColumn(9).getString();
    if (first) job = one;
    first = false;
    if (std::tie(one.model, one.device, one.batch_per_worker, one.accumulation) !=
        std::tie(job.model, job.device, job.batch_per_worker, job.accumulation))
      continue;
    job.cores = std::max(job.cores, one.cores);
    ShardedRanks& ranks = by_workers[query.getColumn(1).getInt64()];
    ranks.workers = query.getColumn(1).getInt64();
    ranks.nodes = query.getColumn(2).getInt64();
    ranks.measurements.push_back(query.getColumn(0).getInt64());
    add_run_steps(sql, ranks.measurements.back(), ranks);
    add_bytes(sql, ranks.measurements.back(), ranks);
  }
  for (auto& [workers, ranks] : by_workers) {
    if (ranks.steps_s.empty()) continue;
    ranks.units = sharded_units(sql, ranks.measurements);
    job.measured.push_back(std::move(ranks));
  }
  return job;
}

std::vector<UnitCollectiveTime> unit_collectives(SQLite::Database& sql, const ShardedJob& job, const char* action) {
  std::vector<UnitCollectiveTime> all;
  for (const ShardedRanks& ranks : job.measured) {
    if (ranks.workers < 2) continue;
    std::map<std::int64_t, std::vector<double>> by_bytes;
    for (const std::int64_t measurement : ranks.measurements) {
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
      all.push_back({ranks.workers, static_cast<double>(bytes), stats::median(seconds)});
  }
  return all;
}

}  // namespace ddpprof::fit
