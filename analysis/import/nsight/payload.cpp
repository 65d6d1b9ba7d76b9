#include "analysis/import/nsight/payload.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {
namespace {

constexpr std::size_t header_bytes = 32;

// Returns the size of NVTX's predefined entry types (nvToolsExtPayload.h) that are whole numbers; 0: any other type.
std::size_t bytes_of(std::int64_t type) {
  static constexpr std::array<std::uint8_t, 19> plain{0, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1, 1, 2, 2, 4, 4, 8, 8};
  if (type == 22 || type == 23) return 8;  // size_t, an address
  return type >= 0 && type < static_cast<std::int64_t>(plain.size()) ? plain[static_cast<std::size_t>(type)] : 0;
}

bool is_signed(std::int64_t type) { return type < 19 && type % 2 == 1 && type >= 3; }

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

std::vector<std::byte> from_hexadecimal(std::span<const std::byte> digits) {
  std::vector<std::byte> bytes;
  const auto value = [](std::byte digit) {
    const char c = static_cast<char>(digit);
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int high = value(digits[i]), low = value(digits[i + 1]);
    if (high < 0 || low < 0) return {};
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return bytes;
}

// Accepts 12, "12", "1,234" and "0x1f", because some viewers write large numbers as text.
std::optional<std::uint64_t> number_of(const nlohmann::json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return static_cast<std::uint64_t>(value.get<std::int64_t>());
  if (!value.is_string()) return std::nullopt;
  std::string text = value.get<std::string>();
  std::erase(text, ',');
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.erase(0, 2);
  if (text.empty() || text.size() > 20 || !std::all_of(text.begin(), text.end(), [&](unsigned char c) {
        return hexadecimal ? std::isxdigit(c) : std::isdigit(c);
      }))
    return std::nullopt;
  return std::strtoull(text.c_str(), nullptr, hexadecimal ? 16 : 10);
}

}  // namespace

// Uses the labels in NCCL's sources (nvtx_payload_schemas.h). NCCL up to 2.18 has "Bytes" for a broadcast.
std::optional<PayloadSchemas::Field> PayloadSchemas::field_of(std::string_view name) {
  std::string label;
  for (const char c : name) label += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (label.find("parent") != std::string::npos) return std::nullopt;
  if (label == "nccl communicator id" || label == "communicator" || label == "comm" || label == "commhash" ||
      label == "comm hash" || label == "communicator id")
    return Field::communicator;
  if (label.starts_with("message size") || label == "bytes" || label == "size [bytes]") return Field::bytes;
  if (label == "no. of ranks" || label == "number of ranks" || label == "nranks") return Field::ranks;
  if (label == "rank") return Field::rank;
  if (label == "cuda device") return Field::device;
  return std::nullopt;
}

void PayloadSchemas::set(NcclPayload& payload, Field field, std::uint64_t value) {
  const auto number = [&](std::int64_t most) -> std::optional<std::int64_t> {
    if (value <= static_cast<std::uint64_t>(most)) return static_cast<std::int64_t>(value);
    payload.absurd = true;
    return std::nullopt;
  };
  switch (field) {
    case Field::communicator:
      payload.communicator = value;
      return;
    case Field::bytes:
      payload.bytes = number(most_bytes);
      return;
    case Field::ranks:
      payload.ranks = number(most_ranks_of_a_job);
      return;
    case Field::rank:
      payload.rank = number(most_ranks_of_a_job);
      return;
    case Field::device:
      payload.device = number(INT32_MAX);
      return;
  }
}

PayloadSchemas::PayloadSchemas(NsightFile& file) {
  if (!file.has("NVTX_PAYLOAD_SCHEMA_ENTRIES")) return;
  struct Row {
    std::string name;
    std::int64_t type = 0;
    std::optional<std::int64_t> offset;
  };
  // Each process registers its schemas again, so entries are identified by their place in the schema.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::map<std::int64_t, Row>> rows;
  static constexpr std::array<std::string_view, 6> columns{"domainId", "schemaId", "idx", "type", "name", "offset"};
  Scan scan(file, "NVTX_PAYLOAD_SCHEMA_ENTRIES", columns);
  while (scan.next()) {
    const auto schema = scan.integer(1), index = scan.integer(2), type = scan.integer(3);
    if (!schema || !index || !type) continue;
    rows[{static_cast<std::uint64_t>(scan.integer(0).value_or(0)), static_cast<std::uint64_t>(*schema)}]
        .insert_or_assign(*index, Row{std::string(scan.text(4)), *type, scan.integer(5)});
  }
  for (const auto& [key, entries] : rows) {
    std::uint64_t next = 0;
    for (const auto& [index, row] : entries) {
      // Any other type is an enumeration, which NCCL stores in four bytes.
      const std::size_t bytes = bytes_of(row.type) > 0 ? bytes_of(row.type) : 4;
      std::uint64_t offset = (next + bytes - 1) / bytes * bytes;
      if (row.offset && *row.offset > 0) offset = static_cast<std::uint64_t>(*row.offset);
      next = offset + bytes;
      if (const auto field = field_of(row.name); field && bytes_of(row.type) > 0)
        schemas_[key].push_back({*field, offset, bytes, is_signed(row.type)});
    }
  }
}

std::optional<NcclPayload> PayloadSchemas::decode(std::span<const std::byte> bytes) const {
  std::vector<std::byte> binary;
  if (bytes.size() >= 2 * header_bytes && std::all_of(bytes.begin(), bytes.end(), [](std::byte b) {
        return std::isxdigit(std::to_integer<int>(b)) != 0;
      })) {
    binary = from_hexadecimal(bytes);
    bytes = binary;
  }
  if (bytes.size() < header_bytes) return std::nullopt;
  const auto schema = schemas_.find({little_endian(bytes.subspan(0, 8)), little_endian(bytes.subspan(8, 8))});
  if (schema == schemas_.end()) return std::nullopt;
  const std::uint64_t size = little_endian(bytes.subspan(16, 8));
  const std::span<const std::byte> fields = bytes.subspan(header_bytes);
  if (size > fields.size()) return std::nullopt;
  NcclPayload payload;
  for (const Entry& entry : schema->second) {
    if (entry.offset > size || size - entry.offset < entry.bytes) continue;
    std::uint64_t value = little_endian(fields.subspan(entry.offset, entry.bytes));
    if (entry.is_signed && entry.bytes == 4)
      value = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)});
    set(payload, entry.field, value);
  }
  return payload;
}

std::optional<NcclPayload> PayloadSchemas::from_json(std::string_view text) {
  const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  NcclPayload payload;
  bool any = false;
  // Several payloads of one range form a list. The fields of a named schema are one level deeper.
  const auto take = [&](const auto& self, const nlohmann::json& node, int depth) -> void {
    if (depth > 3) return;
    if (node.is_array())
      for (const nlohmann::json& item : node) self(self, item, depth + 1);
    if (!node.is_object()) return;
    for (const auto& [name, item] : node.items()) {
      if (item.is_structured()) self(self, item, depth + 1);
      const auto field = field_of(name);
      const auto number = field ? number_of(item) : std::nullopt;
      if (!number) continue;
      set(payload, *field, *number);
      any = true;
    }
  };
  take(take, value, 0);
  return any ? std::optional(payload) : std::nullopt;
}

}  // namespace ddpprof::import
