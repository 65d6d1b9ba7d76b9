// Writes raw events: kernels, copies, CUDA calls, NVTX ranges.
#include <fmt/format.h>

#include <string>

#include "analysis/export/nsys/nsys_events.hpp"
#include "analysis/export/nsys/nsys_places.hpp"
#include "analysis/export/nsys/nsys_tables.hpp"

namespace ddpprof::export_ {
namespace {

// -1: not recorded.
std::string correlation(const char* alias) { return fmt::format("NULLIF({}.correlation, -1)", alias); }

std::string times(const std::string& alias) {
  return on_clock(alias + ".start_ns") + ", " + on_clock(alias + ".end_ns");
}

std::string recorded_times(const std::string& alias) {
  return as_recorded(alias + ".start_ns") + ", " + as_recorded(alias + ".end_ns");
}

std::int64_t write_kernels(NsysFile& file) {
  return file.rows(fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, "
      "demangledName, shortName, mangledName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, "
      "staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, gridId, ddpprof_shard, "
      "ddpprof_start_ns, ddpprof_end_ns) "
      "SELECT {}, k.device, k.device + 1, k.stream, {}, p.global_pid, COALESCE(n.demangled, k.name_id), "
      "COALESCE(n.short, k.name_id), n.mangled, k.registers_per_thread, k.grid, 1, 1, k.block, 1, 1, 0, "
      "k.shared_bytes, 0, 0, 0, k.shard_id, {} "
      "FROM source.kernel k CROSS JOIN place p ON p.shard_id = k.shard_id "
      "LEFT JOIN kernel_name n ON n.id = k.name_id ORDER BY k.rowid",
      times("k"), correlation("k"), recorded_times("k")));
}

// Copies and memsets share a table in the trace database: `n` is a row's place in it.
constexpr const char* copies_in_order =
    "(SELECT *, ROW_NUMBER() OVER (ORDER BY rowid) AS n FROM source.memcpy "
    "WHERE shard_id IN (SELECT shard_id FROM place)) c CROSS JOIN place p ON p.shard_id = c.shard_id";

std::int64_t write_copies(NsysFile& file) {
  std::string numbers, known;
  for (const CopyKind& kind : copy_kinds) {
    numbers += fmt::format(" WHEN '{}' THEN {}", kind.name, kind.number);
    known += fmt::format(" WHEN '{}' THEN NULL", kind.name);
  }
  // The kind shows which end is a device. Whether the host's memory is pinned is not recorded.
  return file.rows(fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, globalPid, "
      "bytes, copyKind, srcKind, dstKind, copyCount, ddpprof_shard, ddpprof_start_ns, ddpprof_end_ns, ddpprof_row, "
      "ddpprof_kind) "
      "SELECT {}, c.device, c.device + 1, c.stream, {}, p.global_pid, c.bytes, CASE c.kind{} ELSE 0 END, "
      "CASE WHEN c.kind GLOB 'device_*' OR c.kind = 'peer' THEN 2 WHEN c.kind GLOB 'array_*' THEN 3 END, "
      "CASE WHEN c.kind GLOB '*_device' OR c.kind = 'peer' THEN 2 WHEN c.kind GLOB '*_array' THEN 3 END, "
      "1, c.shard_id, {}, c.n, CASE c.kind{} ELSE kept(c.kind) END FROM {} WHERE c.kind <> 'memset' ORDER BY c.n",
      times("c"), correlation("c"), numbers, recorded_times("c"), known, copies_in_order));
}

std::int64_t write_memsets(NsysFile& file) {
  return file.rows(fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, correlationId, globalPid, "
      "value, bytes, memKind, ddpprof_shard, ddpprof_start_ns, ddpprof_end_ns, ddpprof_row) "
      "SELECT {}, c.device, c.device + 1, c.stream, {}, p.global_pid, 0, c.bytes, 2, c.shard_id, {}, c.n "
      "FROM {} WHERE c.kind = 'memset' ORDER BY c.n",
      times("c"), correlation("c"), recorded_times("c"), copies_in_order));
}

std::int64_t write_calls(NsysFile& file) {
  return file.rows(fmt::format(
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, returnValue, "
      "ddpprof_shard, ddpprof_start_ns, ddpprof_end_ns, ddpprof_cbid, ddpprof_unnamed, "
      "ddpprof_domain) "
      "SELECT {}, a.domain = 'driver', t.global_tid, {}, COALESCE(a.name_id, n.id), 0, a.shard_id, {}, "
      "NULLIF(a.cbid, 0), CASE WHEN a.name_id IS NULL THEN 1 END, "
      "CASE WHEN a.domain NOT IN ('runtime', 'driver') THEN kept(a.domain) END "
      "FROM source.api_call a CROSS JOIN place p ON p.shard_id = a.shard_id "
      "CROSS JOIN thread_of t ON t.shard_id = a.shard_id AND t.tid = a.tid "
      "LEFT JOIN call_name n ON n.domain = a.domain AND n.cbid = a.cbid ORDER BY a.rowid",
      times("a"), correlation("a"), recorded_times("a")));
}

// Numbers the domains of each process from 1. The default domain, which imports name nvtx, is 0.
void number_domains(SQLite::Database& sql) {
  sql.exec(
      "CREATE TEMP TABLE domain_of (shard_id INTEGER, string_id INTEGER, number INTEGER, "
      "PRIMARY KEY (shard_id, string_id)) WITHOUT ROWID;"
      "INSERT INTO domain_of SELECT DISTINCT shard_id, domain_id, 0 FROM source.range "
      "WHERE domain_id NOT NULL AND shard_id IN (SELECT shard_id FROM place);"
      "UPDATE domain_of SET number = (SELECT COUNT(DISTINCT o.string_id) FROM domain_of o "
      "JOIN place q ON q.shard_id = o.shard_id JOIN source.string s ON s.id = o.string_id "
      "WHERE s.value <> 'nvtx' AND o.string_id <= domain_of.string_id AND "
      "q.global_pid = (SELECT global_pid FROM place WHERE shard_id = domain_of.shard_id)) "
      "WHERE string_id IN (SELECT id FROM source.string WHERE value <> 'nvtx')");
}

std::int64_t write_ranges(NsysFile& file) {
  number_domains(file.sql());
  return file.rows(fmt::format(
      "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, textId, domainId, int64Value, doubleValue, "
      "jsonText, ddpprof_shard, ddpprof_start_ns, ddpprof_end_ns, ddpprof_domain, ddpprof_depth, ddpprof_payload, "
      "ddpprof_open) "
      "SELECT {0}, CASE r.kind WHEN 2 THEN NULL ELSE {1} END, CASE r.kind WHEN 2 THEN {2} WHEN 1 THEN {3} ELSE {4} "
      "END, "
      "s.value, t.global_tid, r.name_id, COALESCE(d.number, 0), "
      "CASE TYPEOF(r.payload) WHEN 'integer' THEN r.payload END, CASE TYPEOF(r.payload) WHEN 'real' THEN r.payload "
      "END, "
      "CASE TYPEOF(r.payload) WHEN 'text' THEN valid_utf8(r.payload) END, r.shard_id, {5}, "
      "CASE WHEN r.kind = 2 AND r.end_ns = r.start_ns THEN NULL WHEN r.kind = 2 THEN r.end_ns ELSE {6} END, "
      "r.domain_id, NULLIF(r.depth, -1), CASE WHEN TYPEOF(kept(r.payload)) = 'blob' THEN kept(r.payload) "
      // A column of real numbers loses the sign of -0.0.
      "WHEN TYPEOF(r.payload) = 'real' AND r.payload = 0 THEN r.payload END, "
      "CASE WHEN r.kind = 2 AND r.end_ns IS NULL THEN 1 END "
      "FROM source.range r CROSS JOIN place p ON p.shard_id = r.shard_id "
      "CROSS JOIN thread_of t ON t.shard_id = r.shard_id AND t.tid = r.tid "
      "LEFT JOIN StringIds s ON s.id = r.name_id "
      "LEFT JOIN domain_of d ON d.shard_id = r.shard_id AND d.string_id = r.domain_id ORDER BY r.rowid",
      on_clock("r.start_ns"), on_clock("r.end_ns"), static_cast<int>(nvtx_mark), static_cast<int>(nvtx_start_end),
      static_cast<int>(nvtx_push_pop), as_recorded("r.start_ns"), as_recorded("r.end_ns")));
}

}  // namespace

void write_raw_events(NsysFile& file, NsysCounts& counts) {
  counts.kernels += write_kernels(file);
  counts.copies += write_copies(file) + write_memsets(file);
  counts.calls += write_calls(file);
  counts.ranges += write_ranges(file);
}

}  // namespace ddpprof::export_
