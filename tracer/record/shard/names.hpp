// The definitions of a process: strings, domains, categories, payload schemas. Ids are valid in the whole process. They
// stay valid after fork(): the child's shard starts with the same definitions.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracer/format/shard_format.hpp"
#include "tracer/record/shard/thread_log.hpp"

namespace ddpprof::record {

struct Domain {  // nvtxDomainHandle_t points to one
  std::uint16_t id;
  std::uint32_t name_id;
};

// The place of an event's message inside its payload, if the schema marks a field as the message.
struct MessageField {
  enum class Kind : std::uint8_t { none, fixed_text, terminated_text, text_pointer, registered } kind = Kind::none;
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;  // fixed_text
};

struct Schema {
  std::uint64_t recorded_id;  // the id in the shard's events; unique in the process
  std::uint32_t domain;
  std::uint32_t name_id;
  std::uint64_t payload_bytes;  // 0: dynamic
  std::uint64_t align_bytes;    // alignment when nested in another schema
  std::uint32_t depth;          // levels of schemas nested inside
  std::uint32_t enum_type;      // entry type of an enumeration's values; 0: not an enumeration
  std::vector<trace::SchemaField> fields;
  MessageField message;
};

class Names {
 public:
  // Returns the string's id, or 0 if the text is empty or its record could not be written. A cache per thread serves
  // most calls.
  std::uint32_t intern(ThreadLog& log, std::string_view text);
  const InternedString* intern_string(ThreadLog& log, std::string_view text);
  std::uint32_t intern_wide(ThreadLog& log, const wchar_t* text);

  std::string_view text(std::uint32_t id);

  // Returns the same domain for the same name, also to different modules. All domains after the first 65534 share one.
  Domain* create_domain(ThreadLog& log, std::string_view name);
  void name_category(ThreadLog& log, std::uint32_t domain, std::uint32_t category, std::uint32_t name_id);

  // Stores `schema` and returns the id that the program uses in its events: `wanted_id` if the program chose one
  // (unique only within its domain), otherwise a new one.
  std::uint64_t add_schema(ThreadLog& log, Schema schema, std::uint64_t wanted_id);
  // Returns the schema of an event's payload, nullptr if it was never registered.
  const Schema* find_schema(ThreadLog& log, std::uint32_t domain, std::uint64_t id);

  // Writes every definition again, for the new shard of a forked child.
  void write_all(ThreadLog& log);

  void lock() { mutex_.lock(); }  // around fork()
  void unlock() { mutex_.unlock(); }

 private:
  struct Category {
    std::uint32_t domain, category, name_id;
  };
  const InternedString* intern_locked(ThreadLog& log, std::string_view text);

  std::mutex mutex_;
  std::unordered_map<std::string_view, const InternedString*> strings_;
  std::vector<const InternedString*> strings_by_id_;
  std::unordered_map<std::string, Domain*> domains_;
  std::vector<Category> categories_;
  std::deque<Schema> schemas_;  // addresses must not change
  std::unordered_map<std::uint64_t, const Schema*> schemas_by_id_;
};

std::string utf8(const wchar_t* text);

}  // namespace ddpprof::record
