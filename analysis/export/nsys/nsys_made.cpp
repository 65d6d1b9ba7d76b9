// Creates ranges and marks from the tables of steps, for processes whose raw ranges are not in the database; also the
// domains and threads of events.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include "analysis/export/nsys/nsys_events.hpp"
#include "analysis/export/nsys/nsys_places.hpp"
#include "analysis/export/nsys/nsys_tables.hpp"
#include "tracer/format/vocabulary.hpp"
#include "tracer/store/utf8.hpp"

namespace ddpprof::export_ {
namespace {

constexpr int made_domain = 1;  // such processes have no other domain

std::string insert_into(const std::string& select) {
  return "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, int64Value, jsonText) " + select;
}

std::string thread(std::int64_t number) { return fmt::format("p.global_pid | {}", number); }

std::int64_t write_steps(NsysFile& file) {
  return file.rows(insert_into(fmt::format(
      "SELECT {}, {}, {}, 'step ' || st.step, p.global_pid | p.pid, {}, st.step, json_object('step', st.step, 'kind', "
      "valid_utf8(st.kind), 'samples', st.samples, 'compute_ns', st.compute_ns, 'communication_ns', "
      "st.communication_ns, 'overlapped_ns', st.overlapped_ns, 'exposed_ns', st.exposed_ns, 'skew_ns', st.skew_ns, "
      "'loss', CASE WHEN ABS(st.loss) < 9e999 THEN st.loss END, 'learning_rate', st.learning_rate) "
      "FROM source.step st CROSS JOIN place p ON p.shard_id = st.shard_id WHERE p.ranges = 0 "
      "ORDER BY st.id",
      on_clock("st.start_ns"), on_clock("(st.start_ns + st.duration_ns)"), static_cast<int>(nvtx_push_pop),
      made_domain)));
}

std::int64_t write_phases(NsysFile& file) {
  return file.rows(insert_into(
      fmt::format("SELECT {}, {}, {}, valid_utf8(f.name), p.global_pid | CASE WHEN f.lane = 0 THEN p.pid "
                  "WHEN f.lane > 0 THEN {} + f.lane - 1 ELSE {} - f.lane - 1 END, {}, NULL, "
                  "CASE WHEN f.bytes NOT NULL THEN json_object('bytes', f.bytes) END "
                  "FROM source.phase f CROSS JOIN source.step st ON st.id = f.step_id "
                  "CROSS JOIN place p ON p.shard_id = st.shard_id WHERE p.ranges = 0 ORDER BY f.rowid",
                  on_clock("(st.start_ns + f.start_ns)"), on_clock("(st.start_ns + f.start_ns + f.duration_ns)"),
                  static_cast<int>(nvtx_push_pop), replica_thread, loader_thread, made_domain)));
}

std::int64_t write_gradients(NsysFile& file, std::int64_t measurement) {
  return file.rows(insert_into(fmt::format(
      "SELECT {}, NULL, {}, COALESCE(valid_utf8(q.name), 'parameter ' || g.parameter), {}, {}, g.parameter, "
      "CASE WHEN q.bytes NOT NULL THEN json_object('parameter', g.parameter, 'bytes', q.bytes) END "
      "FROM source.grad_ready g CROSS JOIN source.step st ON st.id = g.step_id "
      "CROSS JOIN place p ON p.shard_id = st.shard_id "
      "LEFT JOIN source.parameter q ON q.measurement_id = {} AND q.parameter = g.parameter "
      "WHERE p.ranges = 0 ORDER BY g.rowid",
      on_clock("(st.start_ns + g.ready_ns)"), static_cast<int>(nvtx_mark), thread(gradient_thread), made_domain,
      measurement)));
}

// A collective that never started becomes a mark at its launch; one that never ended becomes a range without an end.
std::int64_t write_collectives(NsysFile& file) {
  return file.rows(insert_into(fmt::format(
      "SELECT {}, {}, CASE WHEN c.start_ns IS NULL THEN {} ELSE {} END, valid_utf8(c.op) || "
      "CASE WHEN c.bucket >= 0 THEN ' bucket ' || c.bucket ELSE '' END || "
      "CASE WHEN c.start_ns IS NULL THEN ' never started' ELSE '' END, {}, {}, c.bytes, "
      "json_object('op', valid_utf8(c.op), 'bytes', c.bytes, 'bucket', c.bucket, 'communicator', "
      "printf('0x%016x', c.communicator), 'sequence', c.sequence, 'ready_to_launch_ns', c.launch_ns - c.ready_ns, "
      "'launch_to_start_ns', c.start_ns - c.launch_ns, 'transfer_ns', c.transfer_ns, 'skew_ns', c.skew_ns) "
      "FROM source.collective c CROSS JOIN place p ON p.shard_id = c.shard_id WHERE p.ranges = 0 ORDER BY c.rowid",
      on_clock("COALESCE(c.start_ns, c.launch_ns)"), on_clock("c.end_ns"), static_cast<int>(nvtx_mark),
      static_cast<int>(nvtx_start_end), thread(collective_thread), made_domain)));
}

void name_thread(NsysFile& file, std::int64_t name, std::int64_t global_tid) {
  SQLite::Statement insert(file.sql(), "INSERT INTO ThreadNames (nameId, globalTid) VALUES (?, ?)");
  insert.bind(1, name);
  insert.bind(2, global_tid);
  insert.exec();
}

void name_made_threads(NsysFile& file, NsysNames& names) {
  SQLite::Statement used(file.sql(),
                         "SELECT DISTINCT globalTid, globalTid & 0xFFFFFF FROM NVTX_EVENTS "
                         "WHERE ddpprof_shard IS NULL AND eventType <> 75 ORDER BY globalTid");
  while (used.executeStep()) {
    const std::int64_t id = used.getColumn(0).getInt64(), number = used.getColumn(1).getInt64();
    std::string name = "steps";
    if (number == gradient_thread) name = "gradients ready";
    if (number == collective_thread) name = "collectives";
    if (number >= replica_thread && number < loader_thread) name = fmt::format("replica {}", number - replica_thread);
    if (number >= loader_thread && number < strange_process) name = fmt::format("loader {}", number - loader_thread);
    name_thread(file, names.id_of(name), id);
  }
}

}  // namespace

void write_made_ranges(NsysFile& file, NsysNames& names, NsysCounts& counts) {
  const std::int64_t measurement =
      file.sql()
          .execAndGet(
              "SELECT COALESCE(MIN(measurement_id), 0) FROM source.shard WHERE id IN (SELECT shard_id FROM "
              "place)")
          .getInt64();
  counts.ranges +=
      write_steps(file) + write_phases(file) + write_gradients(file, measurement) + write_collectives(file);
  name_made_threads(file, names);
}

void write_domains_and_threads(NsysFile& file, NsysNames& names) {
  SQLite::Database& sql = file.sql();
  SQLite::Statement create(sql,
                           "INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid, domainId) "
                           "SELECT DISTINCT 0, ?2, ?1, p.global_pid | p.pid, ?3 FROM place p WHERE p.ranges = 0 AND "
                           "(EXISTS (SELECT 1 FROM source.step WHERE shard_id = p.shard_id) OR "
                           "EXISTS (SELECT 1 FROM source.collective WHERE shard_id = p.shard_id)) ORDER BY p.shard_id");
  create.bind(1, vocabulary::domain_name);
  create.bind(2, static_cast<int>(nvtx_domain_create));
  create.bind(3, made_domain);
  create.exec();
  sql.exec(
      "INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid, domainId) "
      "SELECT DISTINCT 0, 75, valid_utf8(s.value), p.global_pid | p.pid, d.number FROM domain_of d "
      "JOIN place p ON p.shard_id = d.shard_id JOIN source.string s ON s.id = d.string_id WHERE d.number > 0 "
      "ORDER BY p.global_pid, d.number");
  SQLite::Statement threads(sql,
                            "SELECT n.name, t.global_tid FROM source.thread n JOIN thread_of t "
                            "ON t.shard_id = n.shard_id AND t.tid = n.tid ORDER BY n.rowid");
  while (threads.executeStep())
    name_thread(file, names.id_of(store::to_valid_utf8(threads.getColumn(0).getString())),
                threads.getColumn(1).getInt64());
}

}  // namespace ddpprof::export_
