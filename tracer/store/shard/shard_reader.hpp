// Reads a shard without trusting its content: every size is checked, valid records are visited, the rest is counted.
//
// The file is read in chunks with pread instead of mmap, so that a shard that is truncated meanwhile does not raise
// SIGBUS.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tracer/format/shard_format.hpp"

namespace ddpprof::store {

// The header cannot be read: missing, too short, not a shard, another version. The message has the reason and the file.
class ShardError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The limits of the recording and the counts of excluded events; see trace::ShardBounds.
struct BoundsInfo {
  bool asked = false, watches_steps = false, opened = false;
  std::int64_t first_step = 0, last_step = 0;
  std::uint64_t left_out_events = 0, left_out_activities = 0, steps_seen = 0;
  std::int64_t lowest_step = 0, highest_step = 0;
  std::string step_range, names_seen;
};

// The header's fields as plain values. Texts are valid UTF-8.
struct ShardInfo {
  std::uint64_t chunk_bytes = 0, chunk_capacity = 0, chunks_used = 0;
  std::uint64_t dropped_records = 0, dropped_cupti_records = 0;
  std::int32_t growth_error = 0;  // errno of a failed growth, 0: none
  bool closed = false;
  std::int32_t rank = -1, world_size = -1, local_rank = -1;
  std::int64_t pid = 0, parent_pid = 0;
  std::int64_t opened_monotonic_ns = 0, opened_realtime_ns = 0;  // 0: unknown or not plausible
  std::int64_t closed_monotonic_ns = 0;                          // likewise
  std::string boot_id, host, process;
  BoundsInfo bounds;
};

// The counts of one pass over the chunks.
struct ShardTally {
  std::uint64_t records = 0;          // valid records of a known type
  std::uint64_t unknown_records = 0;  // of an unknown type, with a valid size
  std::uint64_t bad_records = 0;      // too small for their type, or with a payload beyond their end
  std::uint64_t bad_chunks = 0;       // without a valid header, or with invalid records
  std::uint64_t lost_bytes = 0;       // in bad chunks and beyond the end of the file
  std::uint64_t missing_chunks = 0;   // counted in the header, but not in the file
  std::uint64_t zero_chunks = 0;      // claimed, all zero, and not explained by threads that had not written yet
  std::optional<std::uint64_t> first_bad_offset;  // in the file

  bool sound() const {
    return bad_records == 0 && bad_chunks == 0 && lost_bytes == 0 && missing_chunks == 0 && zero_chunks == 0;
  }
};

// An extended payload: its schema's id and its bytes. Without a payload: schema 0 and no bytes.
struct ExtendedPayload {
  std::uint64_t schema = 0;
  std::span<const std::byte> bytes;
};

// Called in the order of the file. The records of one thread come in the order in which it wrote them; chunks of
// several threads interleave. References and views are valid only during the call.
class ShardVisitor {
 public:
  virtual ~ShardVisitor() = default;
  virtual void on_chunk(std::int64_t /*os_tid*/) {}
  virtual void on_string(std::uint32_t /*id*/, std::string_view /*bytes, perhaps not UTF-8*/) {}
  virtual void on_thread_name(const trace::RecordHeader&) {}
  virtual void on_domain(const trace::DomainRecord&) {}
  virtual void on_category(const trace::CategoryRecord&) {}
  virtual void on_schema(const trace::SchemaRecord&, std::span<const trace::SchemaField>) {}
  virtual void on_push(const trace::EventRecord&, const ExtendedPayload&) {}
  virtual void on_pop(const trace::PopRecord&) {}
  virtual void on_mark(const trace::EventRecord&, const ExtendedPayload&) {}
  virtual void on_range_start(const trace::RangeStartRecord&, const ExtendedPayload&) {}
  virtual void on_range_end(const trace::RangeEndRecord&) {}
  virtual void on_kernel(const trace::KernelRecord&) {}
  virtual void on_copy(const trace::CopyRecord&) {}
  virtual void on_api(const trace::ApiRecord&) {}
  virtual void on_gpu_marker(const trace::GpuMarkerRecord&) {}
  virtual void on_correlation(const trace::CorrelationRecord&) {}
  virtual void on_overhead(const trace::OverheadRecord&) {}
  virtual void on_diagnostic(const trace::DiagnosticRecord&) {}
  virtual void on_nccl_communicator(const trace::NcclCommunicatorRecord&) {}
  virtual void on_nccl_operation(const trace::NcclOperationRecord&) {}
  virtual void on_nccl_channel(const trace::NcclChannelRecord&) {}
  virtual void on_window_begin(const trace::RecordHeader&) {}
  virtual void on_window_end(const trace::RecordHeader&) {}
  virtual void on_step(const trace::StepRecord&) {}
};

class ShardReader {
 public:
  explicit ShardReader(const std::filesystem::path&);  // throws ShardError
  ~ShardReader();
  ShardReader(const ShardReader&) = delete;
  ShardReader& operator=(const ShardReader&) = delete;

  const ShardInfo& info() const { return info_; }
  const std::filesystem::path& path() const { return path_; }
  // Makes one pass over all chunks; may be called again, for example for definitions first and events second. Throws
  // ShardError if reading fails.
  ShardTally visit(ShardVisitor&) const;

 private:
  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t file_bytes_ = 0;
  ShardInfo info_;
};

}  // namespace ddpprof::store
