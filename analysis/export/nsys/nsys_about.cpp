#include "analysis/export/nsys/nsys_about.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "analysis/export/json_depth.hpp"
#include "analysis/export/nsys/nsys_tables.hpp"
#include "tracer/store/utf8.hpp"

namespace ddpprof::export_ {
namespace {

void insert(SQLite::Database& sql, const std::string& table, const std::string& name, const std::string& value) {
  SQLite::Statement statement(sql, "INSERT INTO " + table + " (name, value) VALUES (?, ?)");
  statement.bind(1, name);
  statement.bind(2, store::to_valid_utf8(value));
  statement.exec();
}

// "2026-05-26T07:58:50"
constexpr const char* utc = "strftime('%Y-%m-%dT%H:%M:%S', {0} / 1000000000, 'unixepoch')";

void write_session(SQLite::Database& sql, std::int64_t measurement) {
  // The time of the run's start. The matching time on the run's clock is known only to some milliseconds.
  sql.exec(
      fmt::format("INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs, utcTime, localTime, systemClockNs) "
                  "SELECT started_utc_ns, {0}, {0}, (SELECT MIN(base_ns) FROM place) FROM source.measurement "
                  "WHERE id = {1} AND started_utc_ns > 0",
                  fmt::format(fmt::runtime(utc), "started_utc_ns"), measurement));
  sql.exec(
      "INSERT INTO ANALYSIS_DETAILS SELECT (SELECT MIN(global_pid >> 48 << 48) FROM place), t, 0, t FROM ("
      "SELECT COALESCE(MAX(t), 0) AS t FROM (SELECT MAX(end) AS t FROM CUPTI_ACTIVITY_KIND_KERNEL UNION ALL "
      "SELECT MAX(end) FROM CUPTI_ACTIVITY_KIND_MEMCPY UNION ALL SELECT MAX(end) FROM CUPTI_ACTIVITY_KIND_MEMSET "
      "UNION ALL SELECT MAX(end) FROM CUPTI_ACTIVITY_KIND_RUNTIME UNION ALL SELECT MAX(MAX(start, COALESCE(end, "
      "start))) "
      "FROM NVTX_EVENTS)) WHERE EXISTS (SELECT 1 FROM place)");
}

void environment(SQLite::Database& sql, const char* name, int number, const std::string& value) {
  SQLite::Statement statement(sql,
                              "INSERT INTO TARGET_INFO_SYSTEM_ENV SELECT DISTINCT global_pid >> 48 << 48, 'ddpprof', "
                              "?1, ?2, ?3 FROM place ORDER BY 1");
  statement.bind(1, name);
  statement.bind(2, number);
  statement.bind(3, store::to_valid_utf8(value));
  statement.exec();
}

// The numbers of the names are those of Nsight Systems' device properties.
void write_hosts(SQLite::Database& sql, std::int64_t measurement, const nlohmann::json& versions) {
  sql.exec(
      "INSERT INTO TARGET_INFO_SYSTEM_ENV SELECT DISTINCT global_pid >> 48 << 48, 'ddpprof', 'Hostname', 619, "
      "host_name FROM place WHERE host_name <> '' ORDER BY 1");
  SQLite::Statement one(sql, "SELECT cores, world_size, kind FROM source.measurement WHERE id = ?");
  one.bind(1, measurement);
  one.executeStep();
  // Imported files do not have the number of cores: the measurement's value is a guess.
  if (one.getColumn(2).getString() != "import") environment(sql, "CpuCores", 1, one.getColumn(0).getString());
  const auto version = [&](const char* key) {
    return versions.is_object() ? versions.value(key, nlohmann::json()) : nlohmann::json();
  };
  if (const auto driver = version("driver"); driver.is_string()) environment(sql, "NvDriverVersion", 205, driver);
  if (const auto cuda = version("cuda_driver_version"); cuda.is_string())
    environment(sql, "CudaDriverVersion", 611, cuda);
  // Uses the names of launchers. For a file of one rank, writes its rank.
  SQLite::Statement rank(sql, "SELECT rank, COUNT(*) FROM place");
  if (rank.executeStep() && rank.getColumn(1).getInt() == 1)
    environment(sql, "DeviceEnvironment", 610,
                fmt::format("RANK={};WORLD_SIZE={}", rank.getColumn(0).getInt64(), one.getColumn(1).getInt64()));
}

// Each measurement has one device name, because the database has no other.
void write_devices(SQLite::Database& sql, const nlohmann::json& versions) {
  std::string name;
  for (const char* key : {"device", "gpu"})
    if (name.empty() && versions.is_object() && versions.contains(key) && versions[key].is_string())
      name = versions[key];
  sql.exec(
      "CREATE TEMP TABLE gpu (host INTEGER, device INTEGER, id INTEGER, PRIMARY KEY (host, device)) WITHOUT ROWID;"
      "INSERT INTO gpu SELECT DISTINCT p.host, d.deviceId, 0 FROM (SELECT DISTINCT ddpprof_shard, deviceId FROM "
      "CUPTI_ACTIVITY_KIND_KERNEL) d JOIN place p ON p.shard_id = d.ddpprof_shard;"
      "CREATE TEMP TABLE gpu_user AS SELECT DISTINCT p.host, d.deviceId AS device, p.pid FROM (SELECT DISTINCT "
      "ddpprof_shard, deviceId FROM CUPTI_ACTIVITY_KIND_KERNEL) d JOIN place p ON p.shard_id = d.ddpprof_shard");
  // The devices of the first host keep their numbers.
  sql.exec(
      "UPDATE gpu SET id = CASE host WHEN 0 THEN device ELSE (SELECT MAX(device) + 1 FROM gpu) * host + device END");
  SQLite::Statement devices(sql,
                            "INSERT INTO TARGET_INFO_GPU (vmId, id, name, cuDevice) "
                            "SELECT 1, id, NULLIF(?1, ''), device FROM gpu ORDER BY id");
  devices.bind(1, store::to_valid_utf8(name));
  devices.exec();
  sql.exec(
      "INSERT INTO TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid) SELECT g.id, g.device, u.pid FROM gpu_user u "
      "JOIN gpu g ON g.host = u.host AND g.device = u.device ORDER BY g.id, u.pid");
}

void write_program(SQLite::Database& sql, std::int64_t measurement) {
  const std::string table = "META_DATA_EXPORT";
  insert(sql, table, "EXPORT_PRODUCT_NAME", "ddpprof");
  insert(sql, table, "EXPORT_PRODUCT_VERSION", "ddpprof " DDPPROF_VERSION);
  insert(sql, table, "EXPORT_SCHEMA_VERSION", nsight_schema_version);
  insert(sql, table, "EXPORT_PARAM_EXPORT_TYPE", "SQLite");
  insert(sql, table, "EXPORT_PARAM_LAZY", "false");
  insert(sql, table, "EXPORT_PARAM_TIME_NORMALIZE", "false");
  insert(sql, table, "EXPORT_PARAM_TIME_SHIFT", "0");
  const std::string capture = "META_DATA_CAPTURE";
  SQLite::Statement one(sql, "SELECT model, strategy, world_size, backend FROM source.measurement WHERE id = ?");
  one.bind(1, measurement);
  one.executeStep();
  insert(sql, capture, "CAPTURE_EVENT_TYPE", "NvtxEvents");
  if (sql.execAndGet("SELECT EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_KERNEL)").getInt() != 0)
    insert(sql, capture, "CAPTURE_EVENT_TYPE", "Cuda");
  insert(sql, capture, "DDPPROF_MODEL", one.getColumn(0).getString());
  insert(sql, capture, "DDPPROF_STRATEGY", one.getColumn(1).getString());
  insert(sql, capture, "DDPPROF_WORLD_SIZE", one.getColumn(2).getString());
  insert(sql, capture, "DDPPROF_BACKEND", one.getColumn(3).getString());
}

}  // namespace

void write_about(NsysFile& file, std::int64_t measurement) {
  SQLite::Database& sql = file.sql();
  SQLite::Statement row(sql, "SELECT versions FROM source.measurement WHERE id = ?");
  row.bind(1, measurement);
  row.executeStep();
  const std::string text = row.getColumn(0).getString();
  const nlohmann::json versions = nests_deeper(text) ? nlohmann::json() : nlohmann::json::parse(text, nullptr, false);
  sql.exec(
      "INSERT INTO PROCESSES SELECT global_pid, pid, name FROM place GROUP BY global_pid HAVING rank = MIN(rank) "
      "ORDER BY MIN(rank), shard_id");
  write_hosts(sql, measurement, versions);
  write_devices(sql, versions);
  write_session(sql, measurement);
  write_program(sql, measurement);
  sql.exec(
      "INSERT INTO DIAGNOSTIC_EVENT SELECT 0, 0, 3, CASE severity WHEN 'info' THEN 1 WHEN 'warning' "
      "THEN 2 WHEN 'error' THEN 3 ELSE 0 END, valid_utf8(code || ': ' || message), "
      "(SELECT p.global_pid FROM place p WHERE p.rank = d.rank ORDER BY p.shard_id LIMIT 1) "
      "FROM DDPPROF_diagnostic d ORDER BY rowid");
}

}  // namespace ddpprof::export_
