// Size and kind of NVTX's predefined payload entry types.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tracer/format/shard_format.hpp"
#include "tracer/record/nvtx/event.hpp"

namespace ddpprof::record {

struct PlainType {
  enum class Kind : std::uint8_t { none, signed_integer, unsigned_integer, floating } kind = Kind::none;
  std::uint32_t size_bytes = 0;  // 0: not a plain value
  std::uint32_t align_bytes = 1;
};

// Sizes of this platform: the traced code runs in the same process.
constexpr PlainType plain_type(std::uint64_t type) {
  using enum PlainType::Kind;
  switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
      return {signed_integer, 1, 1};
    case NVTX_PAYLOAD_ENTRY_TYPE_UCHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT8:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR8:
    case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
      return {unsigned_integer, 1, 1};
    case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
      return {signed_integer, 2, 2};
    case NVTX_PAYLOAD_ENTRY_TYPE_USHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR16:
      return {unsigned_integer, 2, 2};
    case NVTX_PAYLOAD_ENTRY_TYPE_INT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_WCHAR:
      return {signed_integer, 4, 4};
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR32:
    case NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY:
    case NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32:
      return {unsigned_integer, 4, 4};
    case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
      return {signed_integer, 8, 8};
    case NVTX_PAYLOAD_ENTRY_TYPE_ULONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_SIZE:
    case NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS:
    case NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE:
      return {unsigned_integer, 8, 8};
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
      return {floating, 4, 4};
    case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
      return {floating, 8, 8};
    // The size keeps the following fields in place. A record cannot hold such a value.
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_BF16:
      return {none, 2, 2};
    case NVTX_PAYLOAD_ENTRY_TYPE_TF32:
      return {none, 4, 4};
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE:
      return {none, sizeof(long double), alignof(long double)};
    case NVTX_PAYLOAD_ENTRY_TYPE_INT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128:
      return {none, 16, 16};
    default:
      return {};
  }
}

constexpr bool is_text_type(std::uint64_t type) {
  return type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING || type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8;
}

template <typename T>
T load_value(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Widens a plain value of up to 8 bytes to 64 bits. Kind `none` counts as an unsigned integer.
inline std::pair<trace::PayloadKind, std::uint64_t> widen(PlainType type, const void* from) {
  if (type.kind == PlainType::Kind::floating) {
    const double value = type.size_bytes == 4 ? static_cast<double>(load_value<float>(from)) : load_value<double>(from);
    return {trace::PayloadKind::float64, std::bit_cast<std::uint64_t>(value)};
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, type.size_bytes);  // little-endian, like every host with CUDA
  if (type.kind != PlainType::Kind::signed_integer) return {trace::PayloadKind::uint64, bits};
  const unsigned shift = 64 - 8 * type.size_bytes;
  const auto widened = static_cast<std::int64_t>(bits << shift) >> shift;
  return {trace::PayloadKind::int64, static_cast<std::uint64_t>(widened)};
}

}  // namespace ddpprof::record
