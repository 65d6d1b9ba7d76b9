// The byte layout of a shard: what the tracer library appends to and what the store reads back.
//
// A shard is one process's memory-mapped, append-only file. It starts with a ShardHeader page; the rest is
// fixed-size chunks, each owned by one thread while it fills. A record never crosses a chunk. Every counter that
// says how much is valid is stored with release order *after* the bytes it covers, so whatever a killed process
// leaves behind is readable up to its last whole record. All times are CLOCK_MONOTONIC nanoseconds.
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
inline constexpr std::uint64_t largest_cap_mib = 1 << 20;  // that DDPPROF_TRACE_MAX_MB may say

// What `ddpprof record` was asked to keep (control_page.hpp), and what that left out. All zero: everything was kept.
struct ShardBounds {
  std::uint32_t asked;  // 1: there are bounds
  std::uint32_t watches_steps;
  std::atomic<std::uint32_t> opened;  // 1: recording was on at some time
  std::uint32_t reserved;
  std::int64_t first_step, last_step;                   // of steps that were asked for: no_first_step, no_last_step
  std::atomic<std::uint64_t> left_out_events;           // ranges and marks
  std::atomic<std::uint64_t> left_out_activities;       // of CUPTI
  std::atomic<std::uint64_t> steps_seen;                // recorded or not, until the last one that was asked for
  std::atomic<std::int64_t> lowest_step, highest_step;  // of those
  char step_range[128];                                 // what steps are called, as asked or as found
  char names_seen[256];                                 // of the first ranges that are no step, a line each
};

struct ShardHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t chunk_bytes;
  std::uint64_t chunk_capacity;            // chunks the file may grow to; later ones are counted as dropped
  std::atomic<std::uint64_t> chunks_used;  // may exceed chunk_capacity by failed claims: clamp when reading
  std::atomic<std::uint64_t> dropped_records;
  std::atomic<std::uint64_t> dropped_cupti_records;
  std::atomic<std::uint32_t> closed;  // 1 once the process ended in order
  std::int32_t rank;                  // from RANK, -1 when unset
  std::int32_t world_size;            // from WORLD_SIZE, -1 when unset
  std::int32_t local_rank;            // from LOCAL_RANK, -1 when unset
  std::int64_t pid;
  std::int64_t parent_pid;
  std::int64_t opened_monotonic_ns;
  std::int64_t opened_realtime_ns;  // paired with opened_monotonic_ns
  char boot_id[40];                 // /proc/sys/kernel/random/boot_id: equal ids share one CLOCK_MONOTONIC
  char host[256];
  char process[256];                       // /proc/self/comm
  std::atomic<std::int32_t> growth_error;  // errno of a refused growth (the disk, a limit of files or memory); 0: none
  std::atomic<std::int64_t>
      closed_monotonic_ns;  // when the process ended in order; 0: it did not, or an older tracer's
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
  domain,             // DomainRecord: an NVTX domain; id 0 is NVTX's default domain
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
  diagnostic,         // DiagnosticRecord: something was lost or refused, with a count
  nccl_communicator,  // NcclCommunicatorRecord (NCCL's profiler plugin)
  nccl_operation,     // NcclOperationRecord    (NCCL's profiler plugin)
  nccl_channel,       // NcclChannelRecord      (NCCL's profiler plugin)
  window_begin,       // RecordHeader: recording goes on (shards with bounds only)
  window_end,         // RecordHeader: recording pauses
  step,               // StepRecord: the range that the thread began at this time is a step (where steps were asked for)
};

struct RecordHeader {
  RecordType type;
  std::uint16_t size_bytes;  // whole record, multiple of 8
  std::uint32_t name_id;     // an interned string, 0 = none
  std::int64_t time_ns;      // for intervals: the start
};
static_assert(sizeof(RecordHeader) == 16);

enum class PayloadKind : std::uint8_t { none, int64, uint64, float64, int32, uint32, float32, extended };

struct EventRecord {
  RecordHeader header;
  std::uint32_t category;
  std::uint16_t domain;
  PayloadKind payload_kind;
  std::uint8_t reserved;
  std::uint64_t payload;  // bits of the value (widened); for `extended`: the schema's id, and the
                          // payload's bytes follow the fixed part (its length first, as uint64)
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
  RecordHeader header;  // header.name_id is the id being defined
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
  std::uint64_t schema;  // id used by extended payloads
  std::uint32_t domain;
  std::uint32_t field_count;
  std::uint64_t payload_bytes;  // static size, 0 when dynamic
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
  std::uint32_t peer_device;  // for peer copies, else the device
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
  cupti_unavailable = 1,  // no driver, no permission, no library: host-side ranges only
  cupti_dropped,          // CUPTI itself dropped records
  cupti_unknown_record,   // a record kind this build does not know
  unbalanced_pop,         // pop without a push
  shard_full,             // chunk_capacity reached
  payload_refused,        // extended payload with an unknown schema or over the size limit
  forked,                 // this shard continues in a child process
  cupti_incomplete,       // some GPU activity is missing, for the reason in the detail
};

struct DiagnosticRecord {
  RecordHeader header;  // name_id: detail text, 0 = none
  DiagnosticCode code;
  std::uint32_t reserved;
  std::uint64_t count;
};

// One of NCCL's communicators, as its rank in this process sees it. -1: that version of the interface does not tell.
struct NcclCommunicatorRecord {
  RecordHeader header;         // name_id: the name that its user gave it, 0: none
  std::uint64_t communicator;  // unique in the process
  std::uint64_t hash;          // equal on all of its ranks
  std::int32_t ranks, rank, nodes;
  std::uint32_t interface_version;  // of the profiler interface that NCCL took
};
static_assert(sizeof(NcclCommunicatorRecord) == 48);

inline constexpr std::uint32_t nccl_point_to_point = 1;  // no sequence, algorithm and protocol
inline constexpr std::uint32_t nccl_captured = 2;        // by a CUDA graph; known since interface 5

// One collective or message, as NCCL handed it to the GPU. Texts are NCCL's own ("AllReduce", "ncclFloat32", "RING",
// "LL128"); those of one `group` travel in one kernel, which their thread launched just before.
struct NcclOperationRecord {
  RecordHeader header;         // name_id: the function; time_ns: when NCCL told of it
  std::uint64_t operation;     // unique in the process
  std::uint64_t group;         // 0: not known
  std::uint64_t communicator;  // NcclCommunicatorRecord's
  std::uint64_t sequence;      // of the function on the communicator
  std::uint64_t count;         // elements of `datatype`, of one rank's buffer
  std::int32_t root_or_peer;   // of a message: the peer
  std::uint32_t datatype_id;   // strings, 0: none
  std::uint32_t algorithm_id, protocol_id;
  std::uint16_t channels, warps;
  std::uint32_t flags;
};
static_assert(sizeof(NcclOperationRecord) == 80);

// A kernel's work on one channel begins or ends: seen by NCCL's proxy thread at header.time_ns, timed by the GPU.
struct NcclChannelRecord {
  RecordHeader header;
  std::uint64_t event;      // of a begin and its end
  std::uint64_t operation;  // of a begin
  std::uint64_t timer_ns;   // the GPU's globaltimer, 0: not told
  std::uint32_t channel;    // of a begin
  std::uint32_t ended;      // 1: the end
};
static_assert(sizeof(NcclChannelRecord) == 48);

}  // namespace ddpprof::trace
