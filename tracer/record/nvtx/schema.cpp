// Registers payload schemas: NVTX's nested, aligned entries with flags become a flat list of fields.
#include <algorithm>
#include <string>

#include "tracer/record/nvtx/event.hpp"
#include "tracer/record/nvtx/payload_types.hpp"
#include "tracer/record/recorder/recorder.hpp"
#include "tracer/record/shard/clock.hpp"
#include "tracer/record/shard/write.hpp"

namespace ddpprof::record {
namespace {

constexpr std::size_t most_fields = 2048;  // a SchemaRecord holds at most 4094
constexpr std::uint64_t longest_spread_array = 64;
constexpr std::uint32_t deepest_nesting = 8;          // each level multiplies names and fields
constexpr std::size_t longest_field_name = 512;       // bytes; "outer.inner[3].x" grows with every level
constexpr std::uint64_t largest_struct = 1ull << 32;  // larger than any payload; offsets cannot overflow
constexpr std::uint64_t reference_flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
                                          NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE;
constexpr std::uint64_t array_flags = 7u << 4;  // the values 1 to 4 of NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_*
constexpr std::uint32_t opaque = NVTX_PAYLOAD_ENTRY_TYPE_INVALID;

std::uint64_t align_up(std::uint64_t offset, std::uint64_t alignment) {
  return alignment <= 1 ? offset : (offset + alignment - 1) / alignment * alignment;
}

// The layout of one entry in its struct.
struct Layout {
  std::uint64_t size_bytes = 0;  // of one element; 0: unknown
  std::uint64_t align_bytes = 1;
  std::uint64_t elements = 1;
  bool variable = false;  // its length depends on the data: entries after it have no fixed place
  std::uint32_t type = opaque;
  const Schema* nested = nullptr;
};

class Builder {
 public:
  Builder(ThreadLog& log, std::uint16_t domain, const nvtxPayloadSchemaAttr_t& attributes)
      : log_(log), names_(Recorder::instance().names()), attributes_(attributes) {
    schema_.domain = domain;
    schema_.align_bytes = 1;
  }

  Schema build() {
    const std::uint64_t mask = attributes_.fieldMask;
    if ((mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME) != 0 && attributes_.name != nullptr) {
      schema_.name_id = names_.intern(log_, attributes_.name);
    }
    pack_bytes_ = (mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT) != 0 ? attributes_.packAlign : 0;
    const std::uint64_t kind = (mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE) != 0 ? attributes_.type : 0;
    is_union_ = kind == NVTX_PAYLOAD_SCHEMA_TYPE_UNION || kind == NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR;
    const bool has_entries = (mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES) != 0 && attributes_.entries != nullptr;
    const bool has_count = (mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES) != 0;
    const std::size_t count = has_entries && has_count ? std::min(attributes_.numEntries, most_fields) : 0;
    for (std::size_t i = 0; i < count; ++i) add_entry(attributes_.entries[i]);
    if ((mask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE) != 0) {
      schema_.payload_bytes = attributes_.payloadStaticSize;
    } else if (placed_ && (sized_ || !is_union_)) {
      schema_.payload_bytes = align_up(is_union_ ? largest_ : end_, schema_.align_bytes);
    }
    if (kind == NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC) schema_.payload_bytes = 0;
    if (has_entries && has_count && attributes_.numEntries > most_fields) cut_ = true;
    if (cut_) {
      const std::string text = "payload schema \"" + text_of(schema_.name_id) + "\" is too large: only its first " +
                               std::to_string(most_fields) + " fields, " + std::to_string(deepest_nesting) +
                               " levels and 512 bytes of a name are kept";
      write_diagnostic(log_, trace::DiagnosticCode::payload_refused, 1, names_.intern(log_, text), monotonic_ns());
    }
    return std::move(schema_);
  }

 private:
  Layout layout_of(const nvtxPayloadSchemaEntry_t& entry) {
    Layout layout;
    const std::uint64_t array = entry.flags & array_flags;
    if ((entry.flags & reference_flags) != 0) return {8, 8, 1, false, opaque, nullptr};
    layout.variable = array > NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE;
    if (entry.type >= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING && entry.type <= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32) {
      if (layout.variable) return {0, 1, 1, true, opaque, nullptr};
      if (entry.arrayOrUnionDetail == 0) return {8, 8, 1, false, opaque, nullptr};  // a `char*`
      const std::uint64_t unit = entry.type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16   ? 2
                                 : entry.type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32 ? 4
                                                                                       : 1;
      return {entry.arrayOrUnionDetail * unit, unit, 1, false, opaque, nullptr};  // a SchemaField has no length
    }
    if (array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE) layout.elements = entry.arrayOrUnionDetail;
    std::uint64_t type = entry.type;
    if (type >= NVTX_PAYLOAD_SCHEMA_ID_STATIC_START) {
      layout.nested = names_.find_schema(log_, schema_.domain, type);
      if (layout.nested == nullptr) return {0, 1, 1, true, opaque, nullptr};
      if (layout.nested->enum_type == 0) {
        if (layout.nested->depth + 1 >= deepest_nesting) {
          cut_ = true;
          return {layout.nested->payload_bytes,
                  layout.nested->align_bytes,
                  layout.elements,
                  layout.variable,
                  opaque,
                  nullptr};
        }
        schema_.depth = std::max(schema_.depth, layout.nested->depth + 1);
        layout.size_bytes = layout.nested->payload_bytes;
        layout.align_bytes = layout.nested->align_bytes;
        return layout;
      }
      type = layout.nested->enum_type;
      layout.nested = nullptr;
    }
    const PlainType plain = plain_type(type);
    layout.size_bytes = plain.size_bytes;
    layout.align_bytes = plain.align_bytes;
    layout.type = plain.size_bytes == 0 ? opaque : static_cast<std::uint32_t>(type);
    return layout;
  }

  void add_entry(const nvtxPayloadSchemaEntry_t& entry) {
    Layout layout = layout_of(entry);
    if (pack_bytes_ != 0) layout.align_bytes = std::min<std::uint64_t>(layout.align_bytes, pack_bytes_);
    schema_.align_bytes = std::max(schema_.align_bytes, layout.align_bytes);
    const bool given = entry.offset != 0 || is_union_;
    const std::uint64_t offset = given ? entry.offset : align_up(end_, layout.align_bytes);
    if (given && !is_union_) placed_ = true;
    const std::string name = entry.name != nullptr ? entry.name : "";
    if (!placed_) {
      add_field(name, opaque, 0);
      return;
    }
    note_message(entry, offset);
    spread(name, layout, offset);
    std::uint64_t size = 0;
    const bool too_large = __builtin_mul_overflow(layout.size_bytes, layout.elements, &size) || size > largest_struct ||
                           offset > largest_struct;
    if (layout.variable || layout.size_bytes == 0 || too_large) {
      sized_ = false;
      placed_ = is_union_;  // the other members of a union start at the same place
      if (too_large) return;
    }
    end_ = offset + size;
    largest_ = std::max(largest_, end_);
  }

  void spread(const std::string& name, const Layout& layout, std::uint64_t offset) {
    const bool array = layout.elements != 1;
    if (layout.elements > longest_spread_array || layout.variable) {
      add_field(name, opaque, offset);
      return;
    }
    for (std::uint64_t i = 0; i < layout.elements; ++i) {
      if (full()) return;
      const std::string element = array ? name + "[" + std::to_string(i) + "]" : name;
      const std::uint64_t at = offset + i * layout.size_bytes;
      if (layout.nested == nullptr) {
        add_field(element, layout.type, at);
        continue;
      }
      for (const trace::SchemaField& inner : layout.nested->fields) {
        if (full()) return;
        add_field(element + "." + text_of(inner.name_id), inner.nvtx_type, at + inner.offset_bytes);
      }
    }
  }

  void note_message(const nvtxPayloadSchemaEntry_t& entry, std::uint64_t offset) {
    using Kind = MessageField::Kind;
    if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE) == 0) return;
    if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) {
      schema_.message = {Kind::registered, offset, 0};
    } else if (is_text_type(entry.type)) {
      const std::uint64_t pointer_flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY;
      const std::uint64_t array = entry.flags & array_flags;
      if ((entry.flags & pointer_flags) != 0) {
        schema_.message = {Kind::text_pointer, offset, 0};
      } else if (array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED) {
        schema_.message = {Kind::terminated_text, offset, 0};
      } else if (entry.arrayOrUnionDetail != 0 && array <= NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE) {
        schema_.message = {Kind::fixed_text, offset, entry.arrayOrUnionDetail};
      } else if (array == 0) {
        schema_.message = {Kind::text_pointer, offset, 0};
      }
    }
  }

  bool full() {
    if (schema_.fields.size() < most_fields) return false;
    cut_ = true;
    return true;
  }

  void add_field(std::string name, std::uint32_t type, std::uint64_t offset) {
    if (full()) return;
    if (name.size() > longest_field_name) {
      name.resize(longest_field_name);
      cut_ = true;
    }
    schema_.fields.push_back({names_.intern(log_, name), type, offset});
  }

  std::string text_of(std::uint32_t id) { return std::string(names_.text(id)); }

  ThreadLog& log_;
  Names& names_;
  const nvtxPayloadSchemaAttr_t& attributes_;
  Schema schema_{};
  std::uint64_t pack_bytes_ = 0;
  std::uint64_t end_ = 0;  // end of the last entry
  std::uint64_t largest_ = 0;
  bool is_union_ = false;
  bool sized_ = true;   // false after an entry without a fixed size
  bool cut_ = false;    // some fields were left out
  bool placed_ = true;  // false after an entry whose length depends on the data
};

}  // namespace

std::uint64_t register_schema(ThreadLog& log, std::uint16_t domain, const nvtxPayloadSchemaAttr_t& attributes) {
  const bool has_id = (attributes.fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID) != 0;
  return Recorder::instance().names().add_schema(log, Builder(log, domain, attributes).build(),
                                                 has_id ? attributes.schemaId : 0);
}

std::uint64_t register_enum(ThreadLog& log, std::uint16_t domain, const nvtxPayloadEnumAttr_t& attributes) {
  const std::uint64_t mask = attributes.fieldMask;
  Schema schema{};
  schema.domain = domain;
  if ((mask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME) != 0 && attributes.name != nullptr) {
    schema.name_id = Recorder::instance().names().intern(log, attributes.name);
  }
  switch ((mask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE) != 0 ? attributes.sizeOfEnum : sizeof(int)) {
    case 1:
      schema.enum_type = NVTX_PAYLOAD_ENTRY_TYPE_INT8;
      break;
    case 2:
      schema.enum_type = NVTX_PAYLOAD_ENTRY_TYPE_INT16;
      break;
    case 8:
      schema.enum_type = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
      break;
    default:
      schema.enum_type = NVTX_PAYLOAD_ENTRY_TYPE_INT32;
      break;
  }
  const bool has_id = (mask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID) != 0;
  return Recorder::instance().names().add_schema(log, std::move(schema), has_id ? attributes.schemaId : 0);
}

}  // namespace ddpprof::record
