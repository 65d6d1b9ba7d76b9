// Queries like those of readers of Nsight Systems' SQLite exports; they do not depend on the program that wrote the
// file.
#pragma once

namespace ddpprof::test::ask {

inline constexpr const char* kernels_by_name =
    "SELECT s.value, COUNT(*), SUM(k.end - k.start) AS total, MIN(k.end - k.start), MAX(k.end - k.start) "
    "FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value "
    "ORDER BY total DESC, s.value";

inline constexpr const char* kernels_by_short_name =
    "SELECT s.value, k.gridX * k.gridY * k.gridZ, k.blockX * k.blockY * k.blockZ, k.registersPerThread, COUNT(*), "
    "SUM(k.staticSharedMemory + k.dynamicSharedMemory) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
    "JOIN StringIds s ON s.id = k.shortName GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4";

inline constexpr const char* copies_by_kind =
    "SELECT o.label, m.deviceId, COUNT(*), SUM(m.bytes), SUM(m.end - m.start) FROM CUPTI_ACTIVITY_KIND_MEMCPY m "
    "JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = m.copyKind GROUP BY 1, 2 ORDER BY 1, 2";

inline constexpr const char* memsets_by_device =
    "SELECT deviceId, streamId, COUNT(*), SUM(bytes), SUM(end - start) FROM CUPTI_ACTIVITY_KIND_MEMSET "
    "GROUP BY 1, 2 ORDER BY 1, 2";

// The version of the interface ("_v7000") is left out, as in reports.
inline constexpr const char* calls_by_name =
    "SELECT c.label, CASE WHEN s.value GLOB '*_v[0-9][0-9][0-9][0-9]*' THEN SUBSTR(s.value, 1, LENGTH(RTRIM(s.value, "
    "'0123456789')) - 2) ELSE s.value END AS name, COUNT(*), SUM(r.end - r.start) FROM CUPTI_ACTIVITY_KIND_RUNTIME r "
    "JOIN StringIds s ON s.id = r.nameId JOIN ENUM_NSYS_EVENT_CLASS c ON c.id = r.eventClass "
    "GROUP BY 1, 2 ORDER BY 1, 2";

// Operations are numbered in their names (", op_id = 12"); the numbers are removed before summing.
inline constexpr const char* ranges_by_name =
    "SELECT CASE WHEN INSTR(name, ', ') > 0 THEN SUBSTR(name, 1, INSTR(name, ', ') - 1) ELSE name END AS name, "
    "COUNT(*), SUM(duration) FROM (SELECT COALESCE(n.text, s.value) AS name, n.end - n.start AS duration "
    "FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId WHERE n.eventType IN (59, 60) AND n.end NOT NULL) "
    "GROUP BY 1 ORDER BY 3 DESC, 1";

inline constexpr const char* events_by_type =
    "SELECT t.name, COUNT(*) FROM NVTX_EVENTS n JOIN ENUM_NSYS_EVENT_TYPE t ON t.id = n.eventType "
    "WHERE t.name <> 'NvtxDomainCreate' GROUP BY 1 ORDER BY 1";

// A kernel belongs to the ranges around the call that launched it.
inline constexpr const char* kernels_by_range =
    "SELECT CASE WHEN INSTR(n.text, ', ') > 0 THEN SUBSTR(n.text, 1, INSTR(n.text, ', ') - 1) ELSE n.text END, "
    "COUNT(*), SUM(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
    "ON r.correlationId = k.correlationId AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000 AND r.eventClass = 0 "
    "JOIN NVTX_EVENTS n ON n.globalTid = r.globalTid AND n.eventType = 59 AND n.text NOT NULL "
    "AND n.start <= r.start AND n.end >= r.end GROUP BY 1 ORDER BY 3 DESC, 1";

inline constexpr const char* idle_gaps =
    "SELECT deviceId, COUNT(*), SUM(gap), MAX(gap) FROM (SELECT deviceId, start - MAX(end) OVER (PARTITION BY deviceId "
    "ORDER BY start, end ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap FROM CUPTI_ACTIVITY_KIND_KERNEL) "
    "WHERE gap > 0 GROUP BY deviceId ORDER BY deviceId";

// The union of a device's kernels, copies and memsets.
inline constexpr const char* busy_by_device =
    "WITH work AS (SELECT deviceId, start, end FROM CUPTI_ACTIVITY_KIND_KERNEL UNION ALL SELECT deviceId, start, end "
    "FROM CUPTI_ACTIVITY_KIND_MEMCPY UNION ALL SELECT deviceId, start, end FROM CUPTI_ACTIVITY_KIND_MEMSET), "
    "reach AS (SELECT *, MAX(end) OVER (PARTITION BY deviceId ORDER BY start, end ROWS BETWEEN UNBOUNDED PRECEDING "
    "AND 1 PRECEDING) AS before FROM work) "
    "SELECT deviceId, SUM(MAX(0, end - MAX(start, COALESCE(before, start)))), MAX(end) - MIN(start) FROM reach "
    "GROUP BY deviceId ORDER BY deviceId";

inline constexpr const char* nccl_beside_compute =
    "SELECT a.deviceId, SUM(MIN(a.end, b.end) - MAX(a.start, b.start)) FROM CUPTI_ACTIVITY_KIND_KERNEL a "
    "JOIN StringIds x ON x.id = a.shortName AND x.value LIKE '%nccl%' "
    "JOIN CUPTI_ACTIVITY_KIND_KERNEL b ON b.deviceId = a.deviceId AND b.globalPid = a.globalPid AND b.start < a.end "
    "AND b.end > a.start JOIN StringIds y ON y.id = b.shortName AND y.value NOT LIKE '%nccl%' "
    "GROUP BY 1 ORDER BY 1";

inline constexpr const char* processes =
    "SELECT p.pid, p.name, COUNT(*), COUNT(DISTINCT k.deviceId) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN PROCESSES p "
    "ON p.globalPid = k.globalPid AND (k.globalPid >> 24 & 0xFFFFFF) = p.pid GROUP BY 1, 2 ORDER BY 1";

inline constexpr const char* launch_delays =
    "SELECT k.deviceId, COUNT(*), SUM(k.start - r.start), MAX(k.start - r.start) FROM CUPTI_ACTIVITY_KIND_RUNTIME r "
    "JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.correlationId = r.correlationId "
    "AND k.globalPid >> 24 = r.globalTid >> 24 AND r.eventClass = 0 GROUP BY 1 ORDER BY 1";

inline constexpr const char* streams =
    "SELECT deviceId, streamId, COUNT(*), SUM(end - start), COUNT(DISTINCT contextId) FROM CUPTI_ACTIVITY_KIND_KERNEL "
    "GROUP BY 1, 2 ORDER BY 1, 2";

inline constexpr const char* all[] = {
    kernels_by_name, kernels_by_short_name, copies_by_kind,   memsets_by_device, calls_by_name,
    ranges_by_name,  events_by_type,        kernels_by_range, idle_gaps,         busy_by_device,
    processes,       launch_delays,         streams,
};

}  // namespace ddpprof::test::ask
