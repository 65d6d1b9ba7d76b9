// Reads a shard with only the definitions of shard_format.hpp, independent of the code that it checks.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tracer/format/shard_format.hpp"

namespace ddpprof::test {

struct Record {
  trace::RecordType type;
  std::int64_t tid = 0;
  std::uint64_t chunk = 0;
  std::uint32_t name_id = 0;
  std::int64_t time_ns = 0;
  std::string bytes;  // the complete record

  template <typename T>
  T as() const {
    if (bytes.size() < sizeof(T)) throw std::runtime_error("record shorter than its type");
    T out;
    std::memcpy(static_cast<void*>(&out), bytes.data(), sizeof out);
    return out;
  }
  // The bytes after the fixed part of an event with an extended payload.
  std::string payload() const {
    const std::size_t fixed = type == trace::RecordType::range_start ? 40 : 32;
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + fixed, sizeof length);
    if (fixed + 8 + length > bytes.size()) throw std::runtime_error("payload crosses its record");
    return bytes.substr(fixed + 8, length);
  }
};

struct Shard {
  std::filesystem::path path;
  std::uint64_t chunk_capacity = 0, chunks_used = 0, dropped = 0, dropped_cupti = 0;
  std::int32_t growth_error = 0;
  bool closed = false;
  std::int32_t rank = 0, world_size = 0, local_rank = 0;
  std::int64_t pid = 0, parent_pid = 0, opened_monotonic_ns = 0, opened_realtime_ns = 0;
  std::string boot_id, host, process;
  std::vector<Record> records;
  std::map<std::uint32_t, std::string> strings;

  std::string name(const Record& record) const {
    if (record.name_id == 0) return "";
    return strings.at(record.name_id);  // throws for an id without a text
  }
  std::vector<Record> of(trace::RecordType type) const {
    std::vector<Record> out;
    for (const Record& record : records) {
      if (record.type == type) out.push_back(record);
    }
    return out;
  }
  std::vector<Record> named(trace::RecordType type, const std::string& text) const {
    std::vector<Record> out;
    for (const Record& record : records) {
      if (record.type == type && name(record) == text) out.push_back(record);
    }
    return out;
  }
  std::uint64_t diagnostics(trace::DiagnosticCode code) const {
    std::uint64_t count = 0;
    for (const Record& record : of(trace::RecordType::diagnostic)) {
      const auto diagnostic = record.as<trace::DiagnosticRecord>();
      if (diagnostic.code == code) count += diagnostic.count;
    }
    return count;
  }
};

inline Shard walk(const std::filesystem::path& path) {
  // In one call: a shard with a million records has a hundred megabytes.
  std::string data(std::filesystem::file_size(path), '\0');
  if (!std::ifstream(path, std::ios::binary).read(data.data(), static_cast<std::streamsize>(data.size())))
    throw std::runtime_error("cannot read " + path.string());
  const auto u64 = [&](std::size_t at) {
    std::uint64_t value = 0;
    if (at + 8 > data.size()) throw std::runtime_error("beyond the file's end");
    std::memcpy(&value, data.data() + at, 8);
    return value;
  };
  const auto i32 = [&](std::size_t at) { return static_cast<std::int32_t>(u64(at)); };
  using trace::ShardHeader;
  if (data.size() < 4096 || data.compare(0, 8, "DDPSHRD1") != 0) throw std::runtime_error("not a shard");
  Shard shard;
  shard.path = path;
  shard.chunk_capacity = u64(offsetof(ShardHeader, chunk_capacity));
  shard.chunks_used = std::min(u64(offsetof(ShardHeader, chunks_used)), shard.chunk_capacity);
  shard.dropped = u64(offsetof(ShardHeader, dropped_records));
  shard.dropped_cupti = u64(offsetof(ShardHeader, dropped_cupti_records));
  shard.growth_error = i32(offsetof(ShardHeader, growth_error));
  shard.closed = i32(offsetof(ShardHeader, closed)) == 1;
  shard.rank = i32(offsetof(ShardHeader, rank));
  shard.world_size = i32(offsetof(ShardHeader, world_size));
  shard.local_rank = i32(offsetof(ShardHeader, local_rank));
  shard.pid = static_cast<std::int64_t>(u64(offsetof(ShardHeader, pid)));
  shard.parent_pid = static_cast<std::int64_t>(u64(offsetof(ShardHeader, parent_pid)));
  shard.opened_monotonic_ns = static_cast<std::int64_t>(u64(offsetof(ShardHeader, opened_monotonic_ns)));
  shard.opened_realtime_ns = static_cast<std::int64_t>(u64(offsetof(ShardHeader, opened_realtime_ns)));
  shard.boot_id = data.c_str() + offsetof(ShardHeader, boot_id);
  shard.host = data.c_str() + offsetof(ShardHeader, host);
  shard.process = data.c_str() + offsetof(ShardHeader, process);

  for (std::uint64_t chunk = 0; chunk < shard.chunks_used; ++chunk) {
    const std::size_t start = 4096 + chunk * 65536;
    const std::uint64_t used = u64(start + 16);
    if (static_cast<std::uint32_t>(u64(start)) != trace::chunk_magic) {
      if (used != 0) throw std::runtime_error("a chunk with records but without its magic");
      continue;  // claimed by a process that was killed before it used the chunk
    }
    if (used > 65536 - 24) throw std::runtime_error("a chunk fuller than it can be");
    for (std::size_t at = 0; at < used;) {
      Record record;
      std::uint16_t type = 0, size = 0;
      std::memcpy(&type, &data.at(start + 24 + at), 2);
      std::memcpy(&size, &data.at(start + 24 + at + 2), 2);
      if (size < 16 || size % 8 != 0 || at + size > used) throw std::runtime_error("a record crosses its chunk");
      record.type = static_cast<trace::RecordType>(type);
      record.tid = static_cast<std::int64_t>(u64(start + 8));
      record.chunk = chunk;
      record.bytes = data.substr(start + 24 + at, size);
      std::memcpy(&record.name_id, record.bytes.data() + 4, 4);
      std::memcpy(&record.time_ns, record.bytes.data() + 8, 8);
      if (record.type == trace::RecordType::string) {
        shard.strings[record.name_id] = record.bytes.substr(24, u64(start + 24 + at + 16));
      }
      shard.records.push_back(std::move(record));
      at += size;
    }
  }
  return shard;
}

inline std::vector<Shard> walk_all(const std::filesystem::path& directory) {
  std::vector<Shard> out;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".ddps") out.push_back(walk(entry.path()));
  return out;
}

}  // namespace ddpprof::test
