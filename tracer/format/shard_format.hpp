// The byte layout of a shard: the tracer library appends to it, the store reads it.
//
// A shard is the memory-mapped, append-only file of one process. It starts with a ShardHeader page. Fixed-size chunks
// follow; one thread owns each chunk while the chunk fills. A record never crosses the end of a chunk. Every counter of
// valid bytes is stored with release order *after* those bytes. So the shard of a killed process is readable up to its
// last complete record. All times are CLOCK_MONOTONIC nanoseconds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ddpprof::trace {

inline constexpr char shard_magic[8] = {'D', 'D', 'P', 'S', 'H', 'R', 'D', '1'};
inline constexpr std::uint32_t shard_version = 1;
inline constexpr std::size_t shard_header_bytes = 4096;
inline constexpr std::uint32_t chunk_magic = 0x4b4e4843;  // "CHNK"
inline constexpr std::size_t chunk_bytes = 64 * 1024;
inline constexpr std::uint64_t largest_cap_mib = 1 << 20;  // largest value of DDPPROF_TRACE_MAX_MB

// The limits that `ddpprof record` set (control_page.hpp), and the counts of events that they excluded. All zero if
// everything was recorded.
struct ShardBounds {
  std::uint32_t asked;  // 1: a control page was in force
  std::uint32_t watches_steps;
  std::atomic<std::uint32_t> opened;  // 1: recording was on at some time
  std::uint32_t reserved;
  std::int64_t first_step, last_step;                   // requested steps; no_first_step, no_last_step: no limit
  std::atomic<std::uint64_t> left_out_events;           // ranges and marks that were not recorded
  std::atomic<std::uint64_t> left_out_activities;       // CUPTI activities that were not recorded
  std::atomic<std::uint64_t> steps_seen;                // recorded or not, until the last requested step
  std::atomic<std::int64_t> lowest_step, highest_step;  // of steps_seen
  char step_range[128];                                 // name of the steps' ranges: as requested or as found
  char names_seen[256];                                 // names of the first ranges that were not steps, one per line
};

struct ShardHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t chunk_bytes;
  std::uint64_t chunk_capacity;            // the file never has more chunks; records beyond are counted as dropped
  std::atomic<std::uint64_t> chunks_used;  // failed claims may push it above chunk_capacity: clamp when reading
  std::atomic<std::uint64_t> dropped_records;
  std::atomic<std::uint64_t> dropped_cupti_records;
  std::atomic<std::uint32_t> closed;  // 1 after a regular end of the process
  std::int32_t rank;                  // from RANK, -1 when unset
  std::int32_t world_size;            // from WORLD_SIZE, -1 when unset
  std::int32_t local_rank;            // from LOCAL_RANK, -1 when unset
  std::int64_t pid;
  std::int64_t parent_pid;
  std::int64_t opened_monotonic_ns;
  std::int64_t opened_realtime_ns;  // paired with opened_monotonic_ns
  char boot_id[40];                 // /proc/sys/kernel/random/boot_id: equal ids share one CLOCK_MONOTONIC
  char host[256];
  char process[256];  // /proc/self/comm
  std::atomic<std::int32_t>
      growth_error;  // errno of a failed growth (disk full, limit of file size or memory); 0: none
  std::atomic<std::int64_t>
      closed_monotonic_ns;  // time of the regular end; 0: not ended regularly, or written by an older tracer
  ShardBounds bounds;
};
static_assert(sizeof(ShardHeader) <= shard_header_bytes);

struct ChunkHeader {
  std::uint32_t magic;  // chunk_magic once claimed
  std::uint32_t reserved;
  std::int64_t os_tid;
  std::atomic<std::uint64_t> used_bytes;  // bytes of whole records after this header
};
static_assert(sizeof(ChunkHeader) == 24);

enum class RecordType : std::uint16_t {
  string = 1,         // StringRecord: name_id -> text
  thread_name,        // header.name_id names the chunk's thread
  domain,             // DomainRecord: an NVTX domain; id 0 is the default domain of NVTX
  category,           // CategoryRecord
  schema,             // SchemaRecord: an NVTX payload schema
  push,               // EventRecord
  pop,                // PopRecord
  mark,               // EventRecord
  range_start,        // RangeStartRecord; may end on another thread
  range_end,          // RangeEndRecord
  kernel,             // KernelRecord        (CUPTI)
  memcpy_,            // CopyRecord          (CUPTI; memset too)
  api_call,           // ApiRecord           (CUPTI runtime and driver)
  gpu_marker,         // GpuMarkerRecord     (CUPTI markers)
  correlation,        // CorrelationRecord   (CUPTI external correlation)
  overhead,           // OverheadRecord      (CUPTI overhead)
  diagnostic,         // DiagnosticRecord: lost or refused data, with a count
  nccl_communicator,  // NcclCommunicatorRecord (NCCL's profiler plugin)
  nccl_operation,     // NcclOperationRecord    (NCCL's profiler plugin)
  nccl_channel,       // NcclChannelRecord      (NCCL's profiler plugin)
  window_begin,       // RecordHeader: a recording window starts (only shards with a control page)
  window_end,         // RecordHeader: a recording window ends
  step,  // StepRecord: the range that this thread started at this time is a step (only if steps were requested)
};

struct RecordHeader {
  RecordType type;
  std::uint16_t size_bytes;  // whole record, multiple of 8
  std::uint32_t name_id;     // id of an interned string, 0: none
  std::int64_t time_ns;      // of an interval: its start
};
static_assert(sizeof(RecordHeader) == 16);

enum class PayloadKind : std::uint8_t { none, int64, uint64, float64, int32, uint32, float32, extended };

struct EventRecord {
  RecordHeader header;
  std::uint32_t category;
  std::uint16_t domain;
  PayloadKind payload_kind;
  std::uint8_t reserved;
  std::uint64_t payload;  // bits of the value (widened); for `extended`: the schema's id. The payload's
                          // length (uint64) and its bytes then follow the fixed part.
};
static_assert(sizeof(EventRecord) == 32);

struct RangeStartRecord {
  EventRecord event;       // extended payload bytes follow range_id
  std::uint64_t range_id;  // unique in the process
};
static_assert(sizeof(RangeStartRecord) == 40);

struct RangeEndRecord {
  RecordHeader header;
  std::uint64_t range_id;
};

struct PopRecord {
  RecordHeader header;
  std::uint64_t domain;
};

struct StringRecord {   // followed by `length` bytes, padded to 8
  RecordHeader header;  // header.name_id: the id that this record defines
  std::uint64_t length;
};

struct DomainRecord {
  RecordHeader header;  // name_id: the domain's name
  std::uint64_t domain;
};

struct CategoryRecord {
  RecordHeader header;  // name_id: the category's name
  std::uint32_t domain;
  std::uint32_t category;
};

struct SchemaField {
  std::uint32_t name_id;
  std::uint32_t nvtx_type;  // NVTX_PAYLOAD_ENTRY_TYPE_*
  std::uint64_t offset_bytes;
};

struct SchemaRecord {    // followed by field_count SchemaField
  RecordHeader header;   // name_id: the schema's name
  std::uint64_t schema;  // the id that extended payloads refer to
  std::uint32_t domain;
  std::uint32_t field_count;
  std::uint64_t payload_bytes;  // static size, 0: dynamic
};

struct KernelRecord {
  RecordHeader header;  // time_ns: start; name_id: kernel's (mangled) name
  std::int64_t end_ns;
  std::uint32_t device, context, stream, correlation_id;
  std::int32_t grid[3], block[3];
  std::int32_t static_shared_bytes, dynamic_shared_bytes;
  std::uint32_t registers_per_thread, reserved;
  std::uint64_t graph_node_id;
};

struct CopyRecord {
  RecordHeader header;  // time_ns: start
  std::int64_t end_ns;
  std::uint64_t bytes;
  std::uint32_t device, context, stream, correlation_id;
  std::uint32_t kind;         // CUpti_ActivityMemcpyKind; 1000 = memset
  std::uint32_t peer_device;  // of a peer copy; otherwise equal to `device`
};

struct ApiRecord {
  RecordHeader header;  // time_ns: start
  std::int64_t end_ns;
  std::uint32_t domain;  // 1 driver, 2 runtime
  std::uint32_t cbid;
  std::uint32_t thread;
  std::uint32_t correlation_id;
  std::uint32_t return_value, reserved;
};

struct GpuMarkerRecord {
  RecordHeader header;
  std::uint64_t marker_id;
  std::uint32_t flags, domain_name_id;
};

struct CorrelationRecord {
  RecordHeader header;
  std::uint64_t external_id;
  std::uint32_t external_kind, correlation_id;
};

struct OverheadRecord {
  RecordHeader header;
  std::int64_t end_ns;
  std::uint32_t kind, object_id;
};

struct StepRecord {
  RecordHeader header;
  std::int64_t number;
};

enum class DiagnosticCode : std::uint32_t {
  cupti_unavailable = 1,  // no driver, permission or library: only ranges of the host are recorded
  cupti_dropped,          // CUPTI dropped records
  cupti_unknown_record,   // a record kind that this build cannot decode
  unbalanced_pop,         // a pop without a push
  shard_full,             // chunk_capacity reached
  payload_refused,        // extended payload with an unknown schema, or too large
  forked,                 // this process was forked from a recorded one
  cupti_incomplete,       // some GPU activity is missing; the detail has the reason
  cupti_timestamps,       // no loss: the detail has the clock of CUPTI's times, and the versions
};

struct DiagnosticRecord {
  RecordHeader header;  // name_id: detail text, 0 = none
  DiagnosticCode code;
  std::uint32_t reserved;
  std::uint64_t count;
};

// A communicator of NCCL, as its rank in this process reports it. -1: not available in this version of the interface.
struct NcclCommunicatorRecord {
  RecordHeader header;         // name_id: the name set by the program, 0: none
  std::uint64_t communicator;  // unique in the process
  std::uint64_t hash;          // equal on all of its ranks
  std::int32_t ranks, rank, nodes;
  std::uint32_t interface_version;  // version of the profiler interface that NCCL uses
};
static_assert(sizeof(NcclCommunicatorRecord) == 48);

inline constexpr std::uint32_t nccl_point_to_point = 1;  // has no sequence, algorithm or protocol
inline constexpr std::uint32_t nccl_captured = 2;        // captured by a CUDA graph; reported since interface 5

// One collective or message, as NCCL handed it to the GPU. Texts are those of NCCL ("AllReduce", "ncclFloat32", "RING",
// "LL128"). All operations of one `group` run in one kernel, which their thread launched just before this record.
struct NcclOperationRecord {
  RecordHeader header;         // name_id: the function; time_ns: time of NCCL's call
  std::uint64_t operation;     // unique in the process
  std::uint64_t group;         // 0: unknown
  std::uint64_t communicator;  // NcclCommunicatorRecord::communicator
  std::uint64_t sequence;      // counts the function's calls on the communicator
  std::uint64_t count;         // elements of `datatype` in one rank's buffer
  std::int32_t root_or_peer;   // root of a collective, peer of a message
  std::uint32_t datatype_id;   // ids of strings, 0: none
  std::uint32_t algorithm_id, protocol_id;
  std::uint16_t channels, warps;
  std::uint32_t flags;
};
static_assert(sizeof(NcclOperationRecord) == 80);

// The start or end of a kernel's work on one channel. NCCL's proxy thread noticed it at header.time_ns; timer_ns is the
// GPU's own time.
struct NcclChannelRecord {
  RecordHeader header;
  std::uint64_t event;      // equal for a start and its end
  std::uint64_t operation;  // start only
  std::uint64_t timer_ns;   // the GPU's globaltimer, 0: not reported
  std::uint32_t channel;    // start only
  std::uint32_t ended;      // 0: start, 1: end
};
static_assert(sizeof(NcclChannelRecord) == 48);

}  // namespace ddpprof::trace
