#include "tracer/store/schema/migrations.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Transaction.h>

#include <algorithm>
#include <string>

namespace ddpprof::store {

namespace {

// Each step has the declarations of its time, even if schema_tables.cpp has changed since.
constexpr Migration all_migrations[] = {
    {1, "adds host_condition",
     "CREATE TABLE \"host_condition\" (\"measurement_id\" INTEGER NOT NULL REFERENCES measurement(id), \"host\" TEXT "
     "NOT "
     "NULL, \"ranks\" INTEGER NOT NULL, \"window_ns\" INTEGER NOT NULL, \"cpus\" INTEGER, \"ranks_share\" REAL, "
     "\"others_share\" REAL, \"interrupt_share\" REAL, \"steal_share\" REAL, \"frequency_begin_hz\" REAL, "
     "\"frequency_end_hz\" REAL, \"load_begin\" REAL, \"load_end\" REAL, \"thermal_throttles\" INTEGER, "
     "\"quota_throttled_ns\" INTEGER, \"voluntary_switches\" INTEGER, \"involuntary_switches\" INTEGER, "
     "\"major_faults\" INTEGER, PRIMARY KEY (measurement_id, host))"},
    {2, "adds memory",
     "CREATE TABLE \"memory\" (\"measurement_id\" INTEGER NOT NULL REFERENCES measurement(id), \"rank\" INTEGER NOT "
     "NULL, \"device\" INTEGER NOT NULL, \"held_bytes\" INTEGER, \"peak_bytes\" INTEGER NOT NULL, PRIMARY KEY "
     "(measurement_id, rank, device))"},
    {3, "adds measurement.machines and comm_point.processor_ns",
     "ALTER TABLE \"measurement\" ADD COLUMN \"machines\" INTEGER; "
     "ALTER TABLE \"comm_point\" ADD COLUMN \"processor_ns\" INTEGER"},
    {4, "adds device_time, kernel_summary and api_call.name_id",
     "CREATE TABLE \"device_time\" (\"shard_id\" INTEGER NOT NULL REFERENCES shard(id), \"name\" TEXT NOT NULL, "
     "\"start_ns\" INTEGER NOT NULL, \"span_ns\" INTEGER NOT NULL, \"compute_ns\" INTEGER NOT NULL, "
     "\"communication_ns\" INTEGER NOT NULL, \"memory_ns\" INTEGER NOT NULL, \"overlapped_ns\" INTEGER NOT NULL, "
     "\"busy_ns\" INTEGER NOT NULL, \"kernels\" INTEGER NOT NULL, \"collective_kernels\" INTEGER NOT NULL, "
     "\"copies\" INTEGER NOT NULL, PRIMARY KEY (shard_id, name, start_ns)); "
     "CREATE TABLE \"kernel_summary\" (\"shard_id\" INTEGER NOT NULL REFERENCES shard(id), \"name_id\" INTEGER NOT "
     "NULL "
     "REFERENCES string(id), \"kind\" TEXT NOT NULL, \"count\" INTEGER NOT NULL, \"total_ns\" INTEGER NOT NULL, "
     "\"minimum_ns\" INTEGER NOT NULL, \"maximum_ns\" INTEGER NOT NULL, PRIMARY KEY (shard_id, name_id, kind)); "
     "ALTER TABLE \"api_call\" ADD COLUMN \"name_id\" INTEGER REFERENCES string(id)"},
    {5, "adds what NCCL chose to collective",
     "ALTER TABLE \"collective\" ADD COLUMN \"datatype\" TEXT; "
     "ALTER TABLE \"collective\" ADD COLUMN \"algorithm\" TEXT; "
     "ALTER TABLE \"collective\" ADD COLUMN \"protocol\" TEXT; "
     "ALTER TABLE \"collective\" ADD COLUMN \"channels\" INTEGER"},
    {6, "adds learning_rate and squared gradients to step; the views have no time where a rank's clock is unknown",
     "ALTER TABLE \"step\" ADD COLUMN \"learning_rate\" REAL; "
     "ALTER TABLE \"step\" ADD COLUMN \"local_gradient_sqr\" REAL; "
     "ALTER TABLE \"step\" ADD COLUMN \"gradient_sqr\" REAL; "
     "DROP VIEW IF EXISTS \"aligned_step\"; DROP VIEW IF EXISTS \"aligned_collective\"; "
     "CREATE VIEW \"aligned_step\" AS SELECT st.*, sh.measurement_id, sh.rank, CASE WHEN sh.clock_reference <> "
     "'unknown' THEN st.start_ns + sh.clock_offset_ns + CAST((st.start_ns - sh.clock_at_ns) * 1e-9 * "
     "sh.clock_drift_ppb AS INTEGER) END AS aligned_start_ns FROM step st JOIN shard sh ON sh.id = st.shard_id; "
     "CREATE VIEW \"aligned_collective\" AS SELECT c.*, sh.measurement_id, sh.rank, CASE WHEN sh.clock_reference <> "
     "'unknown' THEN c.start_ns + sh.clock_offset_ns + CAST((c.start_ns - sh.clock_at_ns) * 1e-9 * "
     "sh.clock_drift_ppb AS INTEGER) END AS aligned_start_ns, CASE WHEN sh.clock_reference <> 'unknown' THEN "
     "c.end_ns + sh.clock_offset_ns + CAST((c.end_ns - sh.clock_at_ns) * 1e-9 * sh.clock_drift_ppb AS INTEGER) END AS "
     "aligned_end_ns FROM collective c JOIN shard sh ON sh.id = c.shard_id"},
    {7, "adds step.device_idle_ns, prediction.host_s, process_group, and peers and splits to collective",
     "ALTER TABLE \"step\" ADD COLUMN \"device_idle_ns\" INTEGER; "
     "ALTER TABLE \"prediction\" ADD COLUMN \"host_s\" REAL; "
     "ALTER TABLE \"collective\" ADD COLUMN \"peer\" INTEGER; "
     "ALTER TABLE \"collective\" ADD COLUMN \"asynchronous\" INTEGER; "
     "ALTER TABLE \"collective\" ADD COLUMN \"largest_split\" REAL; "
     "CREATE TABLE \"process_group\" (\"measurement_id\" INTEGER NOT NULL REFERENCES measurement(id), "
     "\"communicator\" INTEGER NOT NULL, \"name\" TEXT NOT NULL, \"description\" TEXT NOT NULL, \"size\" INTEGER, "
     "\"ranks\" TEXT NOT NULL, PRIMARY KEY (measurement_id, communicator))"},
    {8, "adds sharded_unit and sharded_work",
     "CREATE TABLE \"sharded_unit\" (\"measurement_id\" INTEGER NOT NULL REFERENCES measurement(id), \"unit\" INTEGER "
     "NOT NULL, \"name\" TEXT NOT NULL, \"root\" INTEGER NOT NULL, \"parameters\" INTEGER, \"gathered_bytes\" INTEGER "
     "NOT NULL, \"gathered_element_bytes\" INTEGER, \"scattered_bytes\" INTEGER NOT NULL, \"scattered_element_bytes\" "
     "INTEGER, \"ranks\" INTEGER, \"gathers_again\" INTEGER, \"scatters_by_all_reduce\" INTEGER NOT NULL, PRIMARY KEY "
     "(measurement_id, unit)); "
     "CREATE TABLE \"sharded_work\" (\"step_id\" INTEGER NOT NULL REFERENCES step(id), \"unit\" INTEGER NOT NULL, "
     "\"action\" TEXT NOT NULL, \"pass\" TEXT NOT NULL, \"micro_batch\" INTEGER NOT NULL, \"launch_ns\" INTEGER, "
     "\"start_ns\" INTEGER NOT NULL, \"end_ns\" INTEGER NOT NULL, \"busy_ns\" INTEGER, \"bytes\" INTEGER, "
     "\"exposed_ns\" INTEGER, \"hidden_by\" INTEGER, \"prefetched\" INTEGER, \"communicator\" INTEGER, \"sequence\" "
     "INTEGER)"},
};

}  // namespace

std::span<const Migration> migrations() { return all_migrations; }

bool migrate(SQLite::Database& sql, int from, int to, std::span<const Migration> steps) {
  const auto step_from = [&](int version) {
    return std::find_if(steps.begin(), steps.end(), [&](const Migration& step) { return step.from == version; });
  };
  for (int version = from; version < to; ++version)
    if (step_from(version) == steps.end()) return false;
  SQLite::Transaction transaction(sql, SQLite::TransactionBehavior::IMMEDIATE);
  // From here on no other process writes. `from` was read before the lock.
  const int found = sql.execAndGet("PRAGMA user_version").getInt();
  if (found >= to) return true;
  for (int version = std::max(from, found); version < to; ++version) sql.exec(std::string(step_from(version)->sql));
  sql.exec("PRAGMA user_version = " + std::to_string(to));
  transaction.commit();
  return true;
}

}  // namespace ddpprof::store
