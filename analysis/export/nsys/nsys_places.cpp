#include "analysis/export/nsys/nsys_places.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace ddpprof::export_ {
namespace {

constexpr std::int64_t id_limit = std::int64_t{1} << 24;

struct Shard {
  std::int64_t id = 0, rank = 0, pid = 0;
  std::string host, boot, name;
  bool raw = false;
  std::int64_t host_number = 0, process = 0;
};

std::vector<Shard> shards_of(SQLite::Database& sql, std::int64_t measurement) {
  std::vector<Shard> shards;
  SQLite::Statement row(sql,
                        "SELECT sh.id, sh.rank, sh.pid, sh.host, sh.boot_id, "
                        "CASE WHEN sh.process <> '' THEN sh.process ELSE (CASE m.kind WHEN 'bench-comm' THEN m.kind "
                        "ELSE m.strategy END) || ' N=' || m.world_size || ' rank ' || sh.rank END, sh.raw_kept "
                        "FROM source.shard sh JOIN source.measurement m ON m.id = sh.measurement_id "
                        "WHERE m.id = ? ORDER BY sh.rank, sh.id");
  row.bind(1, measurement);
  while (row.executeStep())
    shards.push_back({row.getColumn(0).getInt64(), row.getColumn(1).getInt64(), row.getColumn(2).getInt64(),
                      row.getColumn(3).getString(), row.getColumn(4).getString(), row.getColumn(5).getString(),
                      row.getColumn(6).getInt() != 0, 0, 0});
  return shards;
}

// Finds the threads of each shard, and whether they have raw ranges.
void find_threads(SQLite::Database& sql, std::int64_t measurement) {
  sql.exec(
      "CREATE TEMP TABLE thread_of (shard_id INTEGER, tid INTEGER, ranges INTEGER, host INTEGER, global_tid INTEGER, "
      "PRIMARY KEY (shard_id, tid)) WITHOUT ROWID");
  for (const auto& [table, ranges, host] :
       {std::tuple("range", 1, 1), std::tuple("api_call", 0, 1), std::tuple("thread", 0, 0)})
    sql.exec(
        fmt::format("INSERT INTO thread_of SELECT DISTINCT shard_id, tid, {1}, {2}, NULL FROM source.{0} WHERE "
                    "shard_id IN (SELECT id FROM source.shard WHERE measurement_id = {3}) "
                    "ON CONFLICT DO UPDATE SET ranges = MAX(ranges, excluded.ranges), "
                    "host = MAX(host, excluded.host)",
                    table, ranges, host, measurement));
}

std::set<std::int64_t> shards_where(SQLite::Database& sql, const char* condition) {
  std::set<std::int64_t> shards;
  SQLite::Statement row(sql, fmt::format("SELECT DISTINCT shard_id FROM thread_of WHERE {}", condition));
  while (row.executeStep()) shards.insert(row.getColumn(0).getInt64());
  return shards;
}

void number_processes(std::vector<Shard>& shards, const std::set<std::int64_t>& with_host_events) {
  std::map<std::pair<std::string, std::string>, std::int64_t> hosts;
  std::map<std::tuple<std::int64_t, std::int64_t>, std::int64_t> first;  // (host, pid): the process's number
  std::map<std::int64_t, bool> taken;  // whether its host events already belong to a shard
  for (Shard& shard : shards) {
    shard.host_number =
        hosts.emplace(std::pair(shard.host, shard.boot), static_cast<std::int64_t>(hosts.size())).first->second;
    const bool own_events = with_host_events.contains(shard.id);
    if (shard.pid > 0 && shard.raw)
      if (const auto same = first.find({shard.host_number, shard.pid});
          same != first.end() && !(own_events && taken[same->second])) {
        shard.process = same->second;
        taken[shard.process] = taken[shard.process] || own_events;
        continue;
      }
    // Queries often use only the 24 bits of the process, so these differ between hosts, too.
    shard.process = shard.pid > 0 && shard.pid < made_thread ? shard.pid : strange_process + shard.id % made_thread;
    while (taken.contains(shard.process)) shard.process = (shard.process + 1) % id_limit;
    taken[shard.process] = own_events;
    if (shard.pid > 0 && shard.raw) first.emplace(std::tuple(shard.host_number, shard.pid), shard.process);
  }
}

void number_threads(SQLite::Database& sql) {
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> threads;  // of a process, by tid
  std::map<std::int64_t, std::set<std::int64_t>> used;
  SQLite::Statement all(sql,
                        "SELECT p.global_pid, t.tid FROM thread_of t JOIN place p ON p.shard_id = t.shard_id "
                        "ORDER BY p.global_pid, t.tid");
  while (all.executeStep()) {
    const std::int64_t process = all.getColumn(0).getInt64(), tid = all.getColumn(1).getInt64();
    threads[process][tid] = tid >= 0 && tid < id_limit ? tid : -1;
    used[process].insert(tid);
  }
  SQLite::Statement set(sql,
                        "UPDATE thread_of SET global_tid = ?3 WHERE tid = ?2 AND shard_id IN "
                        "(SELECT shard_id FROM place WHERE global_pid = ?1)");
  for (auto& [process, numbers] : threads) {
    std::int64_t free = strange_thread;
    for (auto& [tid, number] : numbers) {
      if (number < 0) {
        while (used[process].contains(free)) free = (free + 1) % id_limit;
        used[process].insert(number = free);
      }
      set.reset();
      set.bind(1, process);
      set.bind(2, tid);
      set.bind(3, process | number);
      set.exec();
    }
  }
}

}  // namespace

std::int64_t global_process(std::int64_t host, std::int64_t pid) {
  constexpr std::int64_t machines = 128;  // the sign bit stays clear
  return (host % machines) << 56 | (1 + host / machines) << 48 | pid << 24;
}

void make_places(NsysFile& file, std::int64_t measurement) {
  SQLite::Database& sql = file.sql();
  std::vector<Shard> shards = shards_of(sql, measurement);
  find_threads(sql, measurement);
  number_processes(shards, shards_where(sql, "host = 1"));
  std::set<std::int64_t> with_ranges;
  const std::set<std::int64_t> ranges = shards_where(sql, "ranges = 1");
  for (const Shard& shard : shards)
    if (ranges.contains(shard.id)) with_ranges.insert(shard.process);
  sql.exec(
      "CREATE TEMP TABLE place (shard_id INTEGER PRIMARY KEY, rank INTEGER, host INTEGER, host_name TEXT, name TEXT, "
      "pid INTEGER, global_pid INTEGER, ranges INTEGER, offset_ns INTEGER, drift_ppb REAL, at_ns INTEGER, "
      "base_ns INTEGER)");
  SQLite::Statement insert(sql,
                           "INSERT INTO place SELECT id, rank, ?2, valid_utf8(host), valid_utf8(?3), ?4, ?5, ?6, "
                           "clock_offset_ns, clock_drift_ppb, clock_at_ns, 0 FROM source.shard WHERE id = ?1");
  for (const Shard& shard : shards) {
    insert.reset();
    insert.bind(1, shard.id);
    insert.bind(2, shard.host_number);
    insert.bind(3, shard.name);
    insert.bind(4, shard.process);
    insert.bind(5, global_process(shard.host_number, shard.process));
    insert.bind(6, with_ranges.contains(shard.process) ? 1 : 0);
    insert.exec();
  }
  number_threads(sql);
}

std::int64_t set_base(NsysFile& file) {
  std::string times;
  const auto first = [&](const std::string& of, const std::string& time, const char* where) {
    times += fmt::format("{}SELECT MIN({}) AS t FROM source.{} JOIN place p ON p.shard_id = e.shard_id{}",
                         times.empty() ? "" : " UNION ALL ", on_clock(time), of, where);
  };
  for (const char* table : {"range e", "kernel e", "memcpy e", "api_call e"}) first(table, "e.start_ns", "");
  // Processes with raw ranges get no made ranges.
  const char* made = " WHERE p.ranges = 0";
  first("step e", "e.start_ns", made);
  first("collective e", "e.launch_ns", made);
  first("collective e", "e.start_ns", made);
  first("phase f JOIN source.step e ON e.id = f.step_id", "(e.start_ns + f.start_ns)", made);
  const std::int64_t base_ns = file.sql().execAndGet("SELECT COALESCE(MIN(t), 0) FROM (" + times + ")").getInt64();
  file.sql().exec(fmt::format("UPDATE place SET base_ns = {}", base_ns));
  return base_ns;
}

std::string on_clock(const std::string& column) {
  return fmt::format("({0} + p.offset_ns + CAST(({0} - p.at_ns) * 1e-9 * p.drift_ppb AS INTEGER) - p.base_ns)", column);
}

std::string as_recorded(const std::string& column) {
  // SQLite returns a real number if the sum exceeds whole numbers.
  return fmt::format("CASE WHEN p.drift_ppb = 0 AND TYPEOF({}) <> 'real' THEN NULL ELSE {} END", on_clock(column),
                     column);
}

}  // namespace ddpprof::export_
