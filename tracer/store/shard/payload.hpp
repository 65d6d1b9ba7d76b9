// Decodes NVTX extended payloads with the schemas that a shard defines.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tracer/format/shard_format.hpp"
#include "tracer/store/shard/shard_reader.hpp"

namespace ddpprof::store {

// std::monostate: the field's type cannot be decoded, or its bytes are missing.
using FieldValue = std::variant<std::monostate, std::int64_t, std::uint64_t, double, std::string>;

// How the bytes of a field are decoded. nvtx_type is an NVTX_PAYLOAD_ENTRY_TYPE_* (nvtx3/nvToolsExtPayload.h); sizes
// are those of the LP64 data model.
enum class FieldForm : std::uint8_t { unknown, signed_integer, unsigned_integer, real, character, address, nested };
struct FieldType {
  FieldForm form = FieldForm::unknown;
  std::uint32_t bytes = 0;
};
FieldType field_type(std::uint32_t nvtx_type);  // bytes = 0 for nested schemas and unknown types

struct PayloadField {
  std::string name;      // valid UTF-8
  std::string json_key;  // "\"name\":", already escaped
  std::uint32_t nvtx_type = 0;
  FieldType type;
  std::uint64_t offset_bytes = 0;
};

struct PayloadSchema {
  std::string name;
  std::vector<PayloadField> fields;
};

class PayloadDecoder {
 public:
  // `text` returns an interned string. Offsets are final: the tracer has applied NVTX's rules for missing offsets, and
  // the members of a union share one offset. Defining a schema again replaces it.
  template <class Lookup>
  void define(const trace::SchemaRecord& record, std::span<const trace::SchemaField> fields, Lookup&& text) {
    PayloadSchema schema{std::string(text(record.header.name_id)), {}};
    for (const trace::SchemaField& field : fields)
      add_field(schema, std::string(text(field.name_id)), field.nvtx_type, field.offset_bytes);
    define(record.domain, record.schema, std::move(schema));
  }
  void define(std::uint32_t domain, std::uint64_t id, PayloadSchema);
  static void add_field(PayloadSchema&, std::string name, std::uint32_t nvtx_type, std::uint64_t offset_bytes);

  // Returns the domain's schema of this id, otherwise the schema of this id in any domain, or nullptr.
  const PayloadSchema* find(std::uint32_t domain, std::uint64_t id) const;
  // Appends the payload to `out` as a JSON object by field name; nested schemas become nested objects. The id of a
  // predefined type gives one value or an array. An undefined schema gives {"schema":id,"hex":"…"}. At most 8 levels
  // and most_values values are written, to limit schemas that nest endlessly.
  static constexpr int most_values = 8192;  // a flattened schema has at most 4094 fields
  void append_json(std::string& out, std::uint32_t domain, const ExtendedPayload&) const;

 private:
  void append_object(std::string& out, std::uint32_t domain, const PayloadSchema&, std::span<const std::byte>,
                     int depth, int& values_left) const;
  std::map<std::pair<std::uint32_t, std::uint64_t>, PayloadSchema> schemas_;
  std::map<std::uint64_t, std::uint32_t> any_domain_;
};

FieldValue field_value(const PayloadField&, std::span<const std::byte>);
void append_json_text(std::string& out, std::string_view text);

}  // namespace ddpprof::store
