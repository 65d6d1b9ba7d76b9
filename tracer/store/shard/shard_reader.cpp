#include "tracer/store/shard/shard_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <type_traits>
#include <vector>

#include "tracer/store/utf8.hpp"

namespace ddpprof::store {
namespace {

using namespace ddpprof::trace;

constexpr std::uint64_t largest_chunk_bytes = 16u << 20;

template <class T>
T load(std::span<const std::byte> bytes, std::size_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// A time before zero or in the next century is damage and returned as 0, unknown. So differences of two times cannot
// overflow.
std::int64_t clock_ns(std::int64_t stored_ns) {
  constexpr std::int64_t latest_ns = std::int64_t{1} << 62;  // the year 2116
  return stored_ns >= 0 && stored_ns < latest_ns ? stored_ns : 0;
}

std::string text_field(std::span<const std::byte> bytes, std::size_t offset, std::size_t size) {
  const char* begin = reinterpret_cast<const char*>(bytes.data()) + offset;
  return to_valid_utf8({begin, strnlen(begin, size)});
}

// Reads up to out.size() bytes; fewer only at the end of the file.
std::size_t read_at(int file, std::span<std::byte> out, std::uint64_t offset, const std::filesystem::path& path) {
  std::size_t got = 0;
  while (got < out.size()) {
    const ssize_t n = ::pread(file, out.data() + got, out.size() - got, static_cast<off_t>(offset + got));
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      throw ShardError(
          fmt::format("{}: reading failed at byte {}: {}", path.string(), offset + got, std::strerror(errno)));
    }
    got += static_cast<std::size_t>(n);
  }
  return got;
}

std::size_t fixed_bytes(RecordType type) {
  switch (type) {
    case RecordType::string:
      return sizeof(StringRecord);
    case RecordType::thread_name:
    case RecordType::window_begin:
    case RecordType::window_end:
      return sizeof(RecordHeader);
    case RecordType::domain:
      return sizeof(DomainRecord);
    case RecordType::category:
      return sizeof(CategoryRecord);
    case RecordType::schema:
      return sizeof(SchemaRecord);
    case RecordType::push:
    case RecordType::mark:
      return sizeof(EventRecord);
    case RecordType::pop:
      return sizeof(PopRecord);
    case RecordType::range_start:
      return sizeof(RangeStartRecord);
    case RecordType::range_end:
      return sizeof(RangeEndRecord);
    case RecordType::kernel:
      return sizeof(KernelRecord);
    case RecordType::memcpy_:
      return sizeof(CopyRecord);
    case RecordType::api_call:
      return sizeof(ApiRecord);
    case RecordType::gpu_marker:
      return sizeof(GpuMarkerRecord);
    case RecordType::correlation:
      return sizeof(CorrelationRecord);
    case RecordType::overhead:
      return sizeof(OverheadRecord);
    case RecordType::diagnostic:
      return sizeof(DiagnosticRecord);
    case RecordType::nccl_communicator:
      return sizeof(NcclCommunicatorRecord);
    case RecordType::nccl_operation:
      return sizeof(NcclOperationRecord);
    case RecordType::nccl_channel:
      return sizeof(NcclChannelRecord);
    case RecordType::step:
      return sizeof(StepRecord);
  }
  return 0;
}

// Returns false if the payload's length exceeds the record. The event is then visited without the payload.
bool extended_payload(const EventRecord& event, std::span<const std::byte> rest, ExtendedPayload& out) {
  if (event.payload_kind > PayloadKind::extended) return false;
  if (event.payload_kind != PayloadKind::extended) return true;
  if (rest.size() < sizeof(std::uint64_t)) return false;
  const auto length = load<std::uint64_t>(rest, 0);
  if (length > rest.size() - sizeof(std::uint64_t)) return false;
  out = {event.payload, rest.subspan(sizeof(std::uint64_t), length)};
  return true;
}

// An event with a refused payload is visited without it.
EventRecord without_payload(EventRecord event) {
  event.payload_kind = PayloadKind::none;
  event.payload = 0;
  return event;
}

// Dispatches one record, whose size must be valid. Returns false if its content is invalid.
bool dispatch(std::span<const std::byte> record, RecordType type, ShardVisitor& visitor,
              std::vector<SchemaField>& fields) {
  const auto after = [&](std::size_t fixed) { return record.subspan(fixed); };
  switch (type) {
    case RecordType::string: {
      const auto header = load<StringRecord>(record, 0);
      const auto rest = after(sizeof header);
      if (header.length > rest.size()) return false;
      visitor.on_string(header.header.name_id, {reinterpret_cast<const char*>(rest.data()), header.length});
      return true;
    }
    case RecordType::schema: {
      const auto header = load<SchemaRecord>(record, 0);
      const auto rest = after(sizeof header);
      if (header.field_count > rest.size() / sizeof(SchemaField)) return false;
      fields.resize(header.field_count);
      if (!fields.empty()) std::memcpy(fields.data(), rest.data(), fields.size() * sizeof(SchemaField));
      visitor.on_schema(header, fields);
      return true;
    }
    case RecordType::push:
    case RecordType::mark: {
      auto event = load<EventRecord>(record, 0);
      ExtendedPayload payload;
      const bool sound = extended_payload(event, after(sizeof event), payload);
      if (!sound) event = without_payload(event);
      type == RecordType::push ? visitor.on_push(event, payload) : visitor.on_mark(event, payload);
      return sound;
    }
    case RecordType::range_start: {
      auto range = load<RangeStartRecord>(record, 0);
      ExtendedPayload payload;
      const bool sound = extended_payload(range.event, after(sizeof range), payload);
      if (!sound) range.event = without_payload(range.event);
      visitor.on_range_start(range, payload);
      return sound;
    }
    case RecordType::thread_name:
      visitor.on_thread_name(load<RecordHeader>(record, 0));
      return true;
    case RecordType::domain:
      visitor.on_domain(load<DomainRecord>(record, 0));
      return true;
    case RecordType::category:
      visitor.on_category(load<CategoryRecord>(record, 0));
      return true;
    case RecordType::pop:
      visitor.on_pop(load<PopRecord>(record, 0));
      return true;
    case RecordType::range_end:
      visitor.on_range_end(load<RangeEndRecord>(record, 0));
      return true;
    case RecordType::kernel:
      visitor.on_kernel(load<KernelRecord>(record, 0));
      return true;
    case RecordType::memcpy_:
      visitor.on_copy(load<CopyRecord>(record, 0));
      return true;
    case RecordType::api_call:
      visitor.on_api(load<ApiRecord>(record, 0));
      return true;
    case RecordType::gpu_marker:
      visitor.on_gpu_marker(load<GpuMarkerRecord>(record, 0));
      return true;
    case RecordType::correlation:
      visitor.on_correlation(load<CorrelationRecord>(record, 0));
      return true;
    case RecordType::overhead:
      visitor.on_overhead(load<OverheadRecord>(record, 0));
      return true;
    case RecordType::diagnostic:
      visitor.on_diagnostic(load<DiagnosticRecord>(record, 0));
      return true;
    case RecordType::nccl_communicator:
      visitor.on_nccl_communicator(load<NcclCommunicatorRecord>(record, 0));
      return true;
    case RecordType::nccl_operation:
      visitor.on_nccl_operation(load<NcclOperationRecord>(record, 0));
      return true;
    case RecordType::nccl_channel:
      visitor.on_nccl_channel(load<NcclChannelRecord>(record, 0));
      return true;
    case RecordType::window_begin:
      visitor.on_window_begin(load<RecordHeader>(record, 0));
      return true;
    case RecordType::window_end:
      visitor.on_window_end(load<RecordHeader>(record, 0));
      return true;
    case RecordType::step:
      visitor.on_step(load<StepRecord>(record, 0));
      return true;
  }
  return false;
}

BoundsInfo bounds_in(std::span<const std::byte> header) {
  constexpr std::size_t at = offsetof(ShardHeader, bounds);
  BoundsInfo bounds;
  bounds.asked = load<std::uint32_t>(header, at + offsetof(ShardBounds, asked)) == 1;
  bounds.watches_steps = load<std::uint32_t>(header, at + offsetof(ShardBounds, watches_steps)) == 1;
  bounds.opened = load<std::uint32_t>(header, at + offsetof(ShardBounds, opened)) == 1;
  bounds.first_step = load<std::int64_t>(header, at + offsetof(ShardBounds, first_step));
  bounds.last_step = load<std::int64_t>(header, at + offsetof(ShardBounds, last_step));
  bounds.left_out_events = load<std::uint64_t>(header, at + offsetof(ShardBounds, left_out_events));
  bounds.left_out_activities = load<std::uint64_t>(header, at + offsetof(ShardBounds, left_out_activities));
  bounds.steps_seen = load<std::uint64_t>(header, at + offsetof(ShardBounds, steps_seen));
  bounds.lowest_step = load<std::int64_t>(header, at + offsetof(ShardBounds, lowest_step));
  bounds.highest_step = load<std::int64_t>(header, at + offsetof(ShardBounds, highest_step));
  bounds.step_range = text_field(header, at + offsetof(ShardBounds, step_range), sizeof(ShardBounds::step_range));
  bounds.names_seen = text_field(header, at + offsetof(ShardBounds, names_seen), sizeof(ShardBounds::names_seen));
  return bounds;
}

class ChunkWalk {
 public:
  ChunkWalk(ShardVisitor& visitor, ShardTally& tally) : visitor_(visitor), tally_(tally) {}

  // `chunk`: the bytes of the chunk at `offset` that are in the file; `full_bytes`: its complete size.
  void walk(std::span<const std::byte> chunk, std::uint64_t offset, std::uint64_t full_bytes) {
    if (chunk.size() < sizeof(ChunkHeader)) return lose(offset, chunk.size());
    const auto magic = load<std::uint32_t>(chunk, offsetof(ChunkHeader, magic));
    const auto used = load<std::uint64_t>(chunk, offsetof(ChunkHeader, used_bytes));
    if (magic == 0 && used == 0) {
      // A hole may be smaller than a chunk. Without the header the end of the records after the hole is unknown.
      if (std::any_of(chunk.begin(), chunk.end(), [](std::byte b) { return b != std::byte{0}; }))
        return lose(offset, chunk.size());
      ++zero_run_;
      if (!zero_from_) zero_from_ = offset;
      return;
    }
    flush_zeros();  // records after zeros: the zeros are a hole
    if (magic != chunk_magic) return lose(offset, chunk.size());
    const auto tid = load<std::int64_t>(chunk, offsetof(ChunkHeader, os_tid));
    tids_.insert(tid);
    visitor_.on_chunk(tid);
    const std::uint64_t capacity = full_bytes - sizeof(ChunkHeader);
    const std::uint64_t valid = std::min(used, capacity);
    const std::uint64_t present = std::min<std::uint64_t>(valid, chunk.size() - sizeof(ChunkHeader));
    records(chunk.subspan(sizeof(ChunkHeader), present), offset + sizeof(ChunkHeader), valid, used > capacity);
  }

  // Called after the last chunk. A thread that is killed between claiming a chunk and writing to it leaves one zero
  // chunk at the end of the file, at most one per thread. A process that ended regularly leaves none.
  void finish(bool closed) {
    if (closed || zero_run_ > std::max<std::size_t>(tids_.size(), 1)) flush_zeros();
  }

 private:
  void flush_zeros() {
    if (zero_from_) note(*zero_from_);
    tally_.zero_chunks += zero_run_;
    zero_run_ = 0;
    zero_from_.reset();
  }

  void records(std::span<const std::byte> area, std::uint64_t offset, std::uint64_t valid, bool used_is_bad) {
    std::size_t at = 0;
    while (area.size() - at >= sizeof(RecordHeader)) {
      const auto type = static_cast<RecordType>(load<std::uint16_t>(area, at + offsetof(RecordHeader, type)));
      const auto size = load<std::uint16_t>(area, at + offsetof(RecordHeader, size_bytes));
      if (size < sizeof(RecordHeader) || size % 8 != 0 || size > area.size() - at) break;
      const std::size_t fixed = fixed_bytes(type);
      if (fixed == 0) {
        ++tally_.unknown_records;
      } else if (size >= fixed && dispatch(area.subspan(at, size), type, visitor_, fields_)) {
        ++tally_.records;
      } else {
        ++tally_.bad_records;
        note(offset + at);
      }
      at += size;
    }
    if (at < valid || used_is_bad) lose(offset + at, valid - at);
  }

  void lose(std::uint64_t offset, std::uint64_t bytes) {
    ++tally_.bad_chunks;
    tally_.lost_bytes += bytes;
    note(offset);
  }
  void note(std::uint64_t offset) {
    if (!tally_.first_bad_offset || offset < *tally_.first_bad_offset) tally_.first_bad_offset = offset;
  }

  ShardVisitor& visitor_;
  ShardTally& tally_;
  std::vector<SchemaField> fields_;
  std::set<std::int64_t> tids_;
  std::uint64_t zero_run_ = 0;  // zero chunks without records after them so far
  std::optional<std::uint64_t> zero_from_;
};

}  // namespace

ShardReader::ShardReader(const std::filesystem::path& path)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  const auto fail = [&](const std::string& what) -> ShardError {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
    return ShardError(fmt::format("{}: {}; expected a shard written by ddpprof's tracer", path.string(), what));
  };
  if (file_ < 0) throw fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
  struct stat status {};
  if (::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) throw fail("not a regular file");
  file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  std::vector<std::byte> bytes(sizeof(ShardHeader));
  std::size_t got = 0;
  try {
    got = read_at(file_, bytes, 0, path);
  } catch (const ShardError& error) {
    throw fail(error.what());
  }
  if (got < sizeof shard_magic || std::memcmp(bytes.data(), shard_magic, sizeof shard_magic) != 0)
    throw fail(got == 0 ? "the file is empty" : "not a shard (wrong first bytes)");
  if (got < bytes.size()) throw fail(fmt::format("cut off inside its header, after {} bytes", got));
  const auto version = load<std::uint32_t>(bytes, offsetof(ShardHeader, version));
  if (version != shard_version)
    throw fail(fmt::format("shard version {}, this program reads {}", version, shard_version));
  const auto header_bytes = load<std::uint32_t>(bytes, offsetof(ShardHeader, header_bytes));
  if (header_bytes != shard_header_bytes)
    throw fail(fmt::format("header of {} bytes, not {}", header_bytes, shard_header_bytes));
  info_.chunk_bytes = load<std::uint64_t>(bytes, offsetof(ShardHeader, chunk_bytes));
  if (info_.chunk_bytes < sizeof(ChunkHeader) + sizeof(RecordHeader) || info_.chunk_bytes > largest_chunk_bytes ||
      info_.chunk_bytes % 8 != 0)
    throw fail(fmt::format("impossible chunk size of {} bytes", info_.chunk_bytes));
  info_.chunk_capacity = load<std::uint64_t>(bytes, offsetof(ShardHeader, chunk_capacity));
  info_.chunks_used = std::min(load<std::uint64_t>(bytes, offsetof(ShardHeader, chunks_used)), info_.chunk_capacity);
  info_.dropped_records = load<std::uint64_t>(bytes, offsetof(ShardHeader, dropped_records));
  info_.dropped_cupti_records = load<std::uint64_t>(bytes, offsetof(ShardHeader, dropped_cupti_records));
  info_.growth_error = load<std::int32_t>(bytes, offsetof(ShardHeader, growth_error));
  info_.closed = load<std::uint32_t>(bytes, offsetof(ShardHeader, closed)) == 1;
  info_.rank = load<std::int32_t>(bytes, offsetof(ShardHeader, rank));
  info_.world_size = load<std::int32_t>(bytes, offsetof(ShardHeader, world_size));
  info_.local_rank = load<std::int32_t>(bytes, offsetof(ShardHeader, local_rank));
  info_.pid = load<std::int64_t>(bytes, offsetof(ShardHeader, pid));
  info_.parent_pid = load<std::int64_t>(bytes, offsetof(ShardHeader, parent_pid));
  info_.opened_monotonic_ns = clock_ns(load<std::int64_t>(bytes, offsetof(ShardHeader, opened_monotonic_ns)));
  info_.opened_realtime_ns = clock_ns(load<std::int64_t>(bytes, offsetof(ShardHeader, opened_realtime_ns)));
  info_.closed_monotonic_ns = clock_ns(load<std::int64_t>(bytes, offsetof(ShardHeader, closed_monotonic_ns)));
  info_.boot_id = text_field(bytes, offsetof(ShardHeader, boot_id), sizeof(ShardHeader::boot_id));
  info_.host = text_field(bytes, offsetof(ShardHeader, host), sizeof(ShardHeader::host));
  info_.process = text_field(bytes, offsetof(ShardHeader, process), sizeof(ShardHeader::process));
  info_.bounds = bounds_in(bytes);
  // The line in /proc/sys ends with a newline.
  while (!info_.boot_id.empty() && info_.boot_id.back() == '\n') info_.boot_id.pop_back();
}

ShardReader::~ShardReader() {
  if (file_ >= 0) ::close(file_);
}

ShardTally ShardReader::visit(ShardVisitor& visitor) const {
  ShardTally tally;
  ChunkWalk walk(visitor, tally);
  std::vector<std::byte> buffer(info_.chunk_bytes);
  for (std::uint64_t i = 0; i < info_.chunks_used; ++i) {
    const std::uint64_t offset = shard_header_bytes + i * info_.chunk_bytes;
    if (offset >= file_bytes_) {
      tally.missing_chunks = info_.chunks_used - i;
      if (!tally.first_bad_offset) tally.first_bad_offset = file_bytes_;
      break;
    }
    const std::size_t got = read_at(file_, buffer, offset, path_);
    walk.walk(std::span(buffer).first(got), offset, info_.chunk_bytes);
  }
  walk.finish(info_.closed);
  return tally;
}

}  // namespace ddpprof::store
