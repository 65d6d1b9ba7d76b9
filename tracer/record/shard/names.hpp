// Everything a process names once: strings, domains, categories, payload schemas. Ids hold for the whole process, so
// that a shard opened after fork() starts with the same names.
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

// Where an event's message sits inside a payload, when its schema says that it carries one.
struct MessageField {
  enum class Kind : std::uint8_t { none, fixed_text, terminated_text, text_pointer, registered } kind = Kind::none;
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;  // fixed_text
};

struct Schema {
  std::uint64_t recorded_id;  // what events refer to in the shard; unique in the process
  std::uint32_t domain;
  std::uint32_t name_id;
  std::uint64_t payload_bytes;  // 0: dynamic
  std::uint64_t align_bytes;    // when nested in another schema
  std::uint32_t depth;          // levels of schemas inside it
  std::uint32_t enum_type;      // the entry type an enumeration's values have; 0 for a schema
  std::vector<trace::SchemaField> fields;
  MessageField message;
};

class Names {
 public:
  // The string's id, 0 for an empty text or when its record could not be written. A per-thread cache answers most
  // calls.
  std::uint32_t intern(ThreadLog& log, std::string_view text);
  const InternedString* intern_string(ThreadLog& log, std::string_view text);
  std::uint32_t intern_wide(ThreadLog& log, const wchar_t* text);

  std::string_view text(std::uint32_t id);

  // A domain of the same name is the same domain, whichever module creates it. After 65534 domains all others share
  // one.
  Domain* create_domain(ThreadLog& log, std::string_view name);
  void name_category(ThreadLog& log, std::uint32_t domain, std::uint32_t category, std::uint32_t name_id);

  // Takes over `schema` and gives it its id: `wanted_id` when the program chose one (unique within its domain only),
  // else a new one. Returns the id the program uses in its events.
  std::uint64_t add_schema(ThreadLog& log, Schema schema, std::uint64_t wanted_id);
  // The schema of an event's payload, nullptr when it was never registered.
  const Schema* find_schema(ThreadLog& log, std::uint32_t domain, std::uint64_t id);

  // Writes every definition again, into the fresh shard of a forked child.
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
  std::deque<Schema> schemas_;  // addresses stay
  std::unordered_map<std::uint64_t, const Schema*> schemas_by_id_;
};

std::string utf8(const wchar_t* text);

}  // namespace ddpprof::record
