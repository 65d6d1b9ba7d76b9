// Writes shards for tests with the structs of the format, byte for byte like the tracer.
#pragma once

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/shard_format.hpp"

namespace ddpprof::test {

// A temporary folder for each test, removed by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ddpprof-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

class ShardBuilder {
 public:
  struct Header {
    std::int32_t rank = 0, world_size = 1;
    std::string boot_id = "11111111-1111-1111-1111-111111111111";
    bool closed = true;
    std::int64_t pid = 4242;
    std::string host = "node-a", process = "worker";
    std::uint64_t dropped_records = 0, dropped_cupti_records = 0;
    std::uint64_t chunk_capacity = 4096;
    std::int32_t growth_error = 0;
    std::int64_t parent_pid = 1;
    std::int64_t opened_monotonic_ns = 0, opened_realtime_ns = 0, closed_monotonic_ns = 0;
  };
  Header header;

  explicit ShardBuilder(std::size_t chunk_bytes = trace::chunk_bytes) : chunk_bytes_(chunk_bytes) {}

  // Appends one record (a struct of the format) and the bytes after it to the thread's chunk. Sets size and padding.
  template <class Record>
  void add(std::int64_t tid, trace::RecordType type, Record record, std::span<const std::byte> tail = {}) {
    const std::size_t size = (sizeof record + tail.size() + 7) / 8 * 8;
    auto* head = reinterpret_cast<trace::RecordHeader*>(&record);
    head->type = type;
    head->size_bytes = static_cast<std::uint16_t>(size);
    std::vector<std::byte>& bytes = chunk_for(tid, size);
    const std::size_t at = bytes.size();
    bytes.resize(at + size);
    std::memcpy(bytes.data() + at, &record, sizeof record);
    if (!tail.empty()) std::memcpy(bytes.data() + at + sizeof record, tail.data(), tail.size());
  }

  std::uint32_t text(std::string_view text) {
    const auto [found, fresh] =
        strings_.try_emplace(std::string(text), static_cast<std::uint32_t>(strings_.size() + 1));
    if (fresh) {
      trace::StringRecord record{};
      record.header.name_id = found->second;
      record.length = text.size();
      add(definitions_tid, trace::RecordType::string, record, std::as_bytes(std::span(text)));
    }
    return found->second;
  }

  void domain(std::uint64_t id, std::string_view name) {
    trace::DomainRecord record{};
    record.header.name_id = text(name);
    record.domain = id;
    add(definitions_tid, trace::RecordType::domain, record);
  }

  struct Field {
    std::string_view name;
    std::uint32_t nvtx_type;
    std::uint64_t offset_bytes;
  };
  void schema(std::uint32_t domain, std::uint64_t id, std::string_view name, std::initializer_list<Field> fields) {
    trace::SchemaRecord record{};
    record.header.name_id = text(name);
    record.schema = id;
    record.domain = domain;
    record.field_count = static_cast<std::uint32_t>(fields.size());
    std::vector<trace::SchemaField> tail;
    for (const Field& field : fields) tail.push_back({text(field.name), field.nvtx_type, field.offset_bytes});
    add(definitions_tid, trace::RecordType::schema, record, std::as_bytes(std::span(tail)));
  }

  trace::EventRecord event(std::int64_t time_ns, std::string_view name, std::uint16_t domain = 0) {
    trace::EventRecord record{};
    record.header.name_id = text(name);
    record.header.time_ns = time_ns;
    record.domain = domain;
    return record;
  }
  template <class Payload>
  static std::vector<std::byte> extended(const Payload& payload) {
    std::vector<std::byte> tail(sizeof(std::uint64_t) + sizeof payload);
    const std::uint64_t length = sizeof payload;
    std::memcpy(tail.data(), &length, sizeof length);
    std::memcpy(tail.data() + sizeof length, &payload, sizeof payload);
    return tail;
  }
  void push(std::int64_t tid, std::int64_t time_ns, std::string_view name, std::uint16_t domain = 0) {
    add(tid, trace::RecordType::push, event(time_ns, name, domain));
  }
  void pop(std::int64_t tid, std::int64_t time_ns, std::uint64_t domain = 0) {
    trace::PopRecord record{};
    record.header.time_ns = time_ns;
    record.domain = domain;
    add(tid, trace::RecordType::pop, record);
  }

  std::vector<std::byte> bytes() const {
    using trace::ShardHeader;
    std::vector<std::byte> file(trace::shard_header_bytes + chunks_.size() * chunk_bytes_);
    const auto put = [&](std::size_t offset, auto value) { std::memcpy(file.data() + offset, &value, sizeof value); };
    std::memcpy(file.data(), trace::shard_magic, sizeof trace::shard_magic);
    put(offsetof(ShardHeader, version), trace::shard_version);
    put(offsetof(ShardHeader, header_bytes), static_cast<std::uint32_t>(trace::shard_header_bytes));
    put(offsetof(ShardHeader, chunk_bytes), std::uint64_t{chunk_bytes_});
    put(offsetof(ShardHeader, chunk_capacity), header.chunk_capacity);
    put(offsetof(ShardHeader, chunks_used), std::uint64_t{chunks_.size()});
    put(offsetof(ShardHeader, dropped_records), header.dropped_records);
    put(offsetof(ShardHeader, dropped_cupti_records), header.dropped_cupti_records);
    put(offsetof(ShardHeader, growth_error), header.growth_error);
    put(offsetof(ShardHeader, closed), std::uint32_t{header.closed});
    put(offsetof(ShardHeader, rank), header.rank);
    put(offsetof(ShardHeader, world_size), header.world_size);
    put(offsetof(ShardHeader, pid), header.pid);
    put(offsetof(ShardHeader, parent_pid), header.parent_pid);
    put(offsetof(ShardHeader, opened_monotonic_ns), header.opened_monotonic_ns);
    put(offsetof(ShardHeader, opened_realtime_ns), header.opened_realtime_ns);
    put(offsetof(ShardHeader, closed_monotonic_ns), header.closed_monotonic_ns);
    header.boot_id.copy(reinterpret_cast<char*>(file.data()) + offsetof(ShardHeader, boot_id), 39);
    header.host.copy(reinterpret_cast<char*>(file.data()) + offsetof(ShardHeader, host), 255);
    header.process.copy(reinterpret_cast<char*>(file.data()) + offsetof(ShardHeader, process), 255);
    std::size_t at = trace::shard_header_bytes;
    for (const Chunk& chunk : chunks_) {
      put(at + offsetof(trace::ChunkHeader, magic), trace::chunk_magic);
      put(at + offsetof(trace::ChunkHeader, os_tid), chunk.tid);
      put(at + offsetof(trace::ChunkHeader, used_bytes), std::uint64_t{chunk.bytes.size()});
      if (!chunk.bytes.empty())
        std::memcpy(file.data() + at + sizeof(trace::ChunkHeader), chunk.bytes.data(), chunk.bytes.size());
      at += chunk_bytes_;
    }
    return file;
  }

  std::filesystem::path write(const std::filesystem::path& path) const {
    write_bytes(path, bytes());
    return path;
  }
  static void write_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file) throw std::runtime_error("cannot write " + path.string());
  }

 private:
  static constexpr std::int64_t definitions_tid = 1;
  struct Chunk {
    std::int64_t tid;
    std::vector<std::byte> bytes;
  };
  std::vector<std::byte>& chunk_for(std::int64_t tid, std::size_t size) {
    if (const auto open = open_.find(tid); open != open_.end()) {
      std::vector<std::byte>& bytes = chunks_[open->second].bytes;
      if (sizeof(trace::ChunkHeader) + bytes.size() + size <= chunk_bytes_) return bytes;
    }
    open_[tid] = chunks_.size();
    chunks_.push_back({tid, {}});
    return chunks_.back().bytes;
  }

  std::size_t chunk_bytes_;
  std::vector<Chunk> chunks_;
  std::map<std::int64_t, std::size_t> open_;
  std::map<std::string, std::uint32_t, std::less<>> strings_;
};

}  // namespace ddpprof::test
