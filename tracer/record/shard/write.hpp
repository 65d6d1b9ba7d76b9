// Write one record of tracer/format into a thread's log. Each function returns false if the record was dropped, which
// is then counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tracer/record/shard/thread_log.hpp"

namespace ddpprof::record {

// Longer names are cut and end with a mark.
inline constexpr std::size_t longest_string_bytes = 32 * 1024;
// Longer extended payloads are refused with a diagnostic.
inline constexpr std::size_t longest_payload_bytes = 32 * 1024;

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

template <typename Record>
bool write_record(ThreadLog& log, trace::RecordType type, std::uint32_t name_id, std::int64_t time_ns, Record record) {
  static_assert(sizeof(Record) % 8 == 0);
  std::byte* out = log.reserve(sizeof record);
  if (out == nullptr) [[unlikely]]
    return false;
  record.header = {type, sizeof record, name_id, time_ns};
  std::memcpy(out, &record, sizeof record);
  log.commit(sizeof record);
  return true;
}

// Writes `record`, the length of `tail` as uint64 if `with_length`, and the bytes of `tail`, padded with zeros to a
// multiple of 8.
template <typename Record>
bool write_with_tail(ThreadLog& log, Record record, const void* tail, std::size_t tail_bytes, bool with_length) {
  const std::size_t start = sizeof record + (with_length ? sizeof(std::uint64_t) : 0);
  const std::size_t size = padded(start + tail_bytes);
  std::byte* out = log.reserve(size);
  if (out == nullptr) [[unlikely]]
    return false;
  auto& header = reinterpret_cast<trace::RecordHeader&>(record);
  header.size_bytes = static_cast<std::uint16_t>(size);
  std::memset(out + size - 8, 0, 8);  // zeros the padding; the copies below overwrite the rest
  std::memcpy(out, &record, sizeof record);
  if (with_length) {
    const std::uint64_t length = tail_bytes;
    std::memcpy(out + sizeof record, &length, sizeof length);
  }
  if (tail_bytes != 0) std::memcpy(out + start, tail, tail_bytes);
  log.commit(size);
  return true;
}

inline bool write_diagnostic(ThreadLog& log, trace::DiagnosticCode code, std::uint64_t count, std::uint32_t detail_id,
                             std::int64_t time_ns) {
  trace::DiagnosticRecord record{};
  record.code = code;
  record.count = count;
  return write_record(log, trace::RecordType::diagnostic, detail_id, time_ns, record);
}

}  // namespace ddpprof::record
