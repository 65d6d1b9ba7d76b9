// Rows of the tables of raw events. They have views instead of strings, as there are millions of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <variant>

namespace ddpprof::store {

// The recorded number, the JSON text of an extended payload, or nothing (NULL).
using PayloadColumn = std::variant<std::monostate, std::int64_t, double, std::string_view>;

struct StringRow {
  static constexpr std::string_view table = "string";
  std::optional<std::int64_t> id;
  std::string_view value;
  auto fields() const { return std::tie(id, value); }
};

struct ThreadRow {
  static constexpr std::string_view table = "thread";
  std::int64_t shard_id = 0, tid = 0;
  std::string_view name;
  auto fields() const { return std::tie(shard_id, tid, name); }
};

enum class RangeKind : std::int64_t { push_pop = 0, start_end = 1, mark = 2 };

struct RangeRow {
  static constexpr std::string_view table = "range";
  std::int64_t shard_id = 0, tid = 0, name_id = 0;
  std::optional<std::int64_t> domain_id;
  RangeKind kind = RangeKind::push_pop;
  std::int64_t depth = 0, start_ns = 0;
  std::optional<std::int64_t> end_ns;
  PayloadColumn payload;
  auto fields() const { return std::tie(shard_id, tid, name_id, domain_id, kind, depth, start_ns, end_ns, payload); }
};

struct KernelRow {
  static constexpr std::string_view table = "kernel";
  std::int64_t shard_id = 0, name_id = 0, device = 0, stream = 0, correlation = 0, start_ns = 0, end_ns = 0;
  std::int64_t grid = 0, block = 0, registers_per_thread = 0, shared_bytes = 0;
  auto fields() const {
    return std::tie(shard_id, name_id, device, stream, correlation, start_ns, end_ns, grid, block, registers_per_thread,
                    shared_bytes);
  }
};

struct MemcpyRow {
  static constexpr std::string_view table = "memcpy";
  std::int64_t shard_id = 0;
  std::string_view kind;
  std::int64_t device = 0, stream = 0, correlation = 0, start_ns = 0, end_ns = 0, bytes = 0;
  auto fields() const { return std::tie(shard_id, kind, device, stream, correlation, start_ns, end_ns, bytes); }
};

struct ApiCallRow {
  static constexpr std::string_view table = "api_call";
  std::int64_t shard_id = 0;
  std::string_view domain;
  std::int64_t cbid = 0, tid = 0, correlation = 0, start_ns = 0, end_ns = 0;
  std::optional<std::int64_t> name_id = std::nullopt;
  auto fields() const { return std::tie(shard_id, domain, cbid, tid, correlation, start_ns, end_ns, name_id); }
};

}  // namespace ddpprof::store
