#include "analysis/import/own/nsys_queries.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace ddpprof::import {
namespace {

// A time as it was recorded: what is counted from the export's first event on rank 0's clock goes back to the shard's.
std::string recorded(std::string_view alias, std::string_view column, std::string_view kept) {
  return fmt::format(
      "COALESCE({0}.{2}, {0}.{1} - p.clock_offset_ns + (SELECT value FROM DDPPROF_EXPORT WHERE name = 'base_ns'))",
      alias, column, kept);
}

std::string times(std::string_view alias) {
  return recorded(alias, "start", "ddpprof_start_ns") + " AS start_ns, " + recorded(alias, "end", "ddpprof_end_ns") +
         " AS end_ns";
}

std::string place(std::string_view alias) {
  return fmt::format("CROSS JOIN DDPPROF_shard p ON p.id = {}.ddpprof_shard", alias);
}

// CUpti_ActivityMemcpyKind, as the trace database names them.
constexpr std::array<std::string_view, 11> copy_kinds{
    "unknown",         "host_to_device",  "device_to_host",   "host_to_array", "array_to_host", "array_to_array",
    "array_to_device", "device_to_array", "device_to_device", "host_to_host",  "peer"};

}  // namespace

std::vector<RawTable> raw_tables() {
  std::string kinds;
  for (std::size_t i = 0; i < copy_kinds.size(); ++i) kinds += fmt::format(" WHEN {} THEN '{}'", i, copy_kinds[i]);
  const auto copies = [](std::string_view table, std::string_view kind) {
    return fmt::format(
        "SELECT c.ddpprof_shard AS shard_id, {} AS kind, c.deviceId AS device, c.streamId AS stream, "
        "COALESCE(c.correlationId, -1) AS correlation, {}, c.bytes AS bytes, c.ddpprof_row AS place FROM {} c {}",
        kind, times("c"), table, place("c"));
  };
  return {
      {"string",
       "SELECT s.id AS id, COALESCE(d.value, s.value) AS value FROM DDPPROF_EXPORT o CROSS JOIN StringIds s "
       "ON s.id <= o.value LEFT JOIN DDPPROF_string d ON d.id = s.id WHERE o.name = 'last_string' ORDER BY s.id"},
      {"range",
       fmt::format(
           "SELECT e.ddpprof_shard AS shard_id, COALESCE(i.tid, e.globalTid & 0xFFFFFF) AS tid, "
           "e.textId AS name_id, e.ddpprof_domain AS domain_id, "
           "CASE e.eventType WHEN 34 THEN 2 WHEN 60 THEN 1 ELSE 0 END AS kind, "
           "COALESCE(e.ddpprof_depth, -1) AS depth, {0} AS start_ns, CASE WHEN e.ddpprof_open = 1 THEN NULL WHEN "
           "e.eventType = 34 THEN "
           "COALESCE(e.ddpprof_end_ns, {0}) WHEN e.end IS NULL THEN NULL ELSE {1} END AS end_ns, "
           "COALESCE(e.ddpprof_payload, e.jsonText, e.int64Value, e.doubleValue) AS payload "
           "FROM NVTX_EVENTS e {2} LEFT JOIN DDPPROF_THREAD_ID i ON i.global_tid = e.globalTid ORDER BY e.rowid",
           recorded("e", "start", "ddpprof_start_ns"), recorded("e", "end", "ddpprof_end_ns"), place("e"))},
      {"kernel",
       fmt::format("SELECT k.ddpprof_shard AS shard_id, COALESCE(k.mangledName, k.demangledName) AS name_id, "
                   "k.deviceId AS device, k.streamId AS stream, COALESCE(k.correlationId, -1) AS correlation, {}, "
                   "k.gridX * k.gridY * k.gridZ AS grid, k.blockX * k.blockY * k.blockZ AS block, "
                   "k.registersPerThread AS registers_per_thread, "
                   "k.staticSharedMemory + k.dynamicSharedMemory AS shared_bytes "
                   "FROM CUPTI_ACTIVITY_KIND_KERNEL k {} ORDER BY k.rowid",
                   times("k"), place("k"))},
      {"memcpy", fmt::format("SELECT shard_id, kind, device, stream, correlation, start_ns, end_ns, bytes FROM "
                             "({} UNION ALL {}) ORDER BY place",
                             copies("CUPTI_ACTIVITY_KIND_MEMCPY",
                                    fmt::format("COALESCE(c.ddpprof_kind, CASE c.copyKind{} END)", kinds)),
                             copies("CUPTI_ACTIVITY_KIND_MEMSET", "'memset'"))},
      {"api_call",
       fmt::format("SELECT a.ddpprof_shard AS shard_id, COALESCE(a.ddpprof_domain, CASE a.eventClass WHEN 1 THEN "
                   "'driver' ELSE 'runtime' END) AS "
                   "domain, COALESCE(a.ddpprof_cbid, 0) AS cbid, COALESCE(i.tid, a.globalTid & 0xFFFFFF) AS tid, "
                   "COALESCE(a.correlationId, -1) AS correlation, {}, "
                   "CASE WHEN a.ddpprof_unnamed IS NULL THEN a.nameId END AS name_id "
                   "FROM CUPTI_ACTIVITY_KIND_RUNTIME a {} LEFT JOIN DDPPROF_THREAD_ID i "
                   "ON i.global_tid = a.globalTid ORDER BY a.rowid",
                   times("a"), place("a"))},
  };
}

}  // namespace ddpprof::import
