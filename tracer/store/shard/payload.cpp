#include "tracer/store/shard/payload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "tracer/store/utf8.hpp"

namespace ddpprof::store {
namespace {

constexpr int deepest_nesting = 8;
constexpr std::uint64_t first_schema_id = 1u << 24;  // NVTX_PAYLOAD_SCHEMA_ID_STATIC_START

template <class T>
T load_scalar(std::span<const std::byte> bytes, std::uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  double value = 0.0;
  if (exponent == 31)
    value = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else
    value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

double float_from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void append_json_value(std::string& out, const FieldValue& value) {
  const auto sink = std::back_inserter(out);
  if (const auto* i = std::get_if<std::int64_t>(&value))
    fmt::format_to(sink, "{}", *i);
  else if (const auto* u = std::get_if<std::uint64_t>(&value))
    fmt::format_to(sink, "{}", *u);
  else if (const auto* d = std::get_if<double>(&value); d && std::isfinite(*d))
    fmt::format_to(sink, "{}", *d);
  else if (const auto* s = std::get_if<std::string>(&value))
    append_json_text(out, *s);
  else
    out += "null";
}

void append_hex(std::string& out, std::span<const std::byte> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  for (std::byte b : bytes) {
    out += digits[std::to_integer<unsigned>(b) >> 4];
    out += digits[std::to_integer<unsigned>(b) & 15];
  }
}

}  // namespace

void append_json_text(std::string& out, std::string_view text) {
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

FieldType field_type(std::uint32_t type) {
  using enum FieldForm;
  switch (type) {
    case 1:
    case 25:
      return {character, 1};  // char, char8
    case 2:
    case 32:
      return {unsigned_integer, 1};  // uchar, byte
    case 3:
      return {signed_integer, 2};  // short
    case 4:
      return {unsigned_integer, 2};  // ushort
    case 5:
      return {signed_integer, 4};  // int
    case 6:
      return {unsigned_integer, 4};  // uint
    case 7:
    case 9:
      return {signed_integer, 8};  // long, long long
    case 8:
    case 10:
    case 22:
      return {unsigned_integer, 8};  // ulong, ulong long, size
    case 11:
      return {signed_integer, 1};
    case 12:
      return {unsigned_integer, 1};
    case 13:
      return {signed_integer, 2};
    case 14:
      return {unsigned_integer, 2};
    case 15:
      return {signed_integer, 4};
    case 16:
      return {unsigned_integer, 4};
    case 17:
      return {signed_integer, 8};
    case 18:
      return {unsigned_integer, 8};
    case 19:
    case 43:
    case 52:
      return {real, 4};  // float, float32, tf32
    case 20:
    case 44:
      return {real, 8};  // double, float64
    case 42:
    case 50:
      return {real, 2};  // float16, bf16
    case 21:
      return {unknown, 16};  // long double
    case 33:
    case 34:
    case 45:
      return {unknown, 16};  // 128-bit
    case 23:
      return {address, 8};
    case 75:
    case 76:
    case 77:
    case 78:
      return {address, 8};  // pointers to text
    case 24:
    case 27:
      return {unsigned_integer, 4};  // wchar_t, char32
    case 26:
      return {unsigned_integer, 2};  // char16
    case 68:
    case 69:
    case 71:
    case 73:
      return {unsigned_integer, 4};  // category, colour, pid, tid
    case 70:
    case 72:
    case 74:
    case 80:
      return {unsigned_integer, 8};  // scope, pid, tid, string handle
    default:
      return {type >= first_schema_id ? nested : unknown, 0};
  }
}

FieldValue field_value(const PayloadField& field, std::span<const std::byte> bytes) {
  const FieldType type = field.type;
  if (type.bytes == 0 || field.offset_bytes > bytes.size() || type.bytes > bytes.size() - field.offset_bytes) return {};
  const std::uint64_t at = field.offset_bytes;
  switch (type.form) {
    case FieldForm::signed_integer:
      switch (type.bytes) {
        case 1:
          return std::int64_t{load_scalar<std::int8_t>(bytes, at)};
        case 2:
          return std::int64_t{load_scalar<std::int16_t>(bytes, at)};
        case 4:
          return std::int64_t{load_scalar<std::int32_t>(bytes, at)};
        default:
          return load_scalar<std::int64_t>(bytes, at);
      }
    case FieldForm::unsigned_integer:
      switch (type.bytes) {
        case 1:
          return std::uint64_t{load_scalar<std::uint8_t>(bytes, at)};
        case 2:
          return std::uint64_t{load_scalar<std::uint16_t>(bytes, at)};
        case 4:
          return std::uint64_t{load_scalar<std::uint32_t>(bytes, at)};
        default:
          return load_scalar<std::uint64_t>(bytes, at);
      }
    case FieldForm::real:
      if (type.bytes == 8) return load_scalar<double>(bytes, at);
      if (type.bytes == 4) return double{load_scalar<float>(bytes, at)};
      if (field.nvtx_type == 50) return float_from_bits(std::uint32_t{load_scalar<std::uint16_t>(bytes, at)} << 16);
      return half_to_double(load_scalar<std::uint16_t>(bytes, at));
    case FieldForm::character:
      return to_valid_utf8(std::string(1, load_scalar<char>(bytes, at)));
    case FieldForm::address:
      return fmt::format("{:#x}", load_scalar<std::uint64_t>(bytes, at));
    case FieldForm::nested:
    case FieldForm::unknown:
      break;
  }
  return {};
}

void PayloadDecoder::add_field(PayloadSchema& schema, std::string name, std::uint32_t nvtx_type, std::uint64_t offset) {
  PayloadField field{std::move(name), {}, nvtx_type, field_type(nvtx_type), offset};
  append_json_text(field.json_key, field.name);
  field.json_key += ':';
  schema.fields.push_back(std::move(field));
}

void PayloadDecoder::define(std::uint32_t domain, std::uint64_t id, PayloadSchema schema) {
  any_domain_.try_emplace(id, domain);
  schemas_.insert_or_assign({domain, id}, std::move(schema));
}

const PayloadSchema* PayloadDecoder::find(std::uint32_t domain, std::uint64_t id) const {
  auto found = schemas_.find({domain, id});
  if (found == schemas_.end()) {
    const auto other = any_domain_.find(id);
    if (other == any_domain_.end()) return nullptr;
    found = schemas_.find({other->second, id});
  }
  return &found->second;
}

void PayloadDecoder::append_object(std::string& out, std::uint32_t domain, const PayloadSchema& schema,
                                   std::span<const std::byte> bytes, int depth, int& values_left) const {
  out += '{';
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const PayloadField& field = schema.fields[i];
    if (values_left-- <= 0) break;
    if (i > 0) out += ',';
    out += field.json_key;
    const PayloadSchema* inner = field.type.form == FieldForm::nested ? find(domain, field.nvtx_type) : nullptr;
    if (inner && depth < deepest_nesting && values_left > 0 && field.offset_bytes <= bytes.size())
      append_object(out, domain, *inner, bytes.subspan(field.offset_bytes), depth + 1, values_left);
    else
      append_json_value(out, field_value(field, bytes));
  }
  out += '}';
}

void PayloadDecoder::append_json(std::string& out, std::uint32_t domain, const ExtendedPayload& payload) const {
  if (const PayloadSchema* schema = find(domain, payload.schema)) {
    int values_left = most_values;
    append_object(out, domain, *schema, payload.bytes, 0, values_left);
    return;
  }
  PayloadField single;
  if (payload.schema < first_schema_id) {
    single.nvtx_type = static_cast<std::uint32_t>(payload.schema);
    single.type = field_type(single.nvtx_type);
  }
  const std::uint32_t size = single.type.bytes;
  if (size != 0 && single.type.form == FieldForm::character) {
    append_json_text(out, to_valid_utf8({reinterpret_cast<const char*>(payload.bytes.data()), payload.bytes.size()}));
  } else if (size != 0 && payload.bytes.size() == size) {
    append_json_value(out, field_value(single, payload.bytes));
  } else if (size != 0 && !payload.bytes.empty() && payload.bytes.size() % size == 0) {
    out += '[';
    for (; single.offset_bytes < payload.bytes.size(); single.offset_bytes += size) {
      if (single.offset_bytes > 0) out += ',';
      append_json_value(out, field_value(single, payload.bytes));
    }
    out += ']';
  } else {
    fmt::format_to(std::back_inserter(out), "{{\"schema\":{},\"hex\":\"", payload.schema);
    append_hex(out, payload.bytes);
    out += "\"}";
  }
}

}  // namespace ddpprof::store
