#include "tracer/record/shard/names.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "tracer/record/shard/clock.hpp"
#include "tracer/record/shard/write.hpp"

namespace ddpprof::record {
namespace {

using trace::RecordType;

constexpr std::uint64_t first_dynamic_schema_id = std::uint64_t{1} << 32;  // NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START
constexpr std::uint16_t overflow_domain = UINT16_MAX;
constexpr std::string_view cut_mark = "…[cut]";

// Multiply and fold, eight bytes at a time. This is fast for short names, which are looked up at every event.
std::uint64_t hash_text(std::string_view text) noexcept {
  constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  std::uint64_t hash = text.size() * multiplier;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * multiplier;
    hash ^= hash >> 32;
  }
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < left; ++i) word |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
  hash = (hash ^ word) * multiplier;
  return hash ^ (hash >> 29);
}

const InternedString* make_string(std::uint32_t id, std::string_view text) {
  void* memory = std::malloc(sizeof(InternedString) + text.size());
  if (memory == nullptr) return nullptr;
  auto* string = new (memory) InternedString{id, static_cast<std::uint32_t>(text.size())};
  std::memcpy(static_cast<char*>(memory) + sizeof(InternedString), text.data(), text.size());
  return string;
}

bool write_string(ThreadLog& log, const InternedString& string) {
  trace::StringRecord record{};
  record.header = {RecordType::string, 0, string.id, monotonic_ns()};
  record.length = string.length;
  return write_with_tail(log, record, string.text(), string.length, false);
}

bool write_domain(ThreadLog& log, const Domain& domain) {
  trace::DomainRecord record{};
  record.domain = domain.id;
  return write_record(log, RecordType::domain, domain.name_id, monotonic_ns(), record);
}

bool write_schema(ThreadLog& log, const Schema& schema) {
  trace::SchemaRecord record{};
  record.header = {RecordType::schema, 0, schema.name_id, monotonic_ns()};
  record.schema = schema.recorded_id;
  record.domain = schema.domain;
  record.field_count = static_cast<std::uint32_t>(schema.fields.size());
  record.payload_bytes = schema.payload_bytes;
  return write_with_tail(log, record, schema.fields.data(), schema.fields.size() * sizeof(trace::SchemaField), false);
}

// Ids that a program chose are unique only within one domain.
std::uint64_t process_wide_id(std::uint32_t domain, std::uint64_t id) {
  return id >= first_dynamic_schema_id ? id : id | std::uint64_t{domain} << 48;
}

}  // namespace

std::string utf8(const wchar_t* text) {
  std::string out;
  for (; *text != L'\0' && out.size() <= longest_string_bytes; ++text) {
    auto code = static_cast<std::uint32_t>(*text);
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xc0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
      } else {
        out += static_cast<char>(0xf0 | code >> 18);
        out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
      }
      out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    }
  }
  return out;
}

const InternedString* Names::intern_string(ThreadLog& log, std::string_view text) {
  if (text.empty()) return nullptr;
  const std::uint64_t hash = hash_text(text);
  ThreadLog::StringSlot& slot = log.string_slot(hash);
  if (slot.string != nullptr && slot.hash == hash && slot.string->view() == text) [[likely]]
    return slot.string;
  const InternedString* string = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (text.size() > longest_string_bytes) [[unlikely]] {
      std::size_t keep = longest_string_bytes - cut_mark.size();
      while (keep > 0 && (static_cast<unsigned char>(text[keep]) & 0xc0) == 0x80)
        --keep;  // do not cut inside a character
      string = intern_locked(log, std::string(text.substr(0, keep)).append(cut_mark));
    } else {
      string = intern_locked(log, text);
    }
  }
  if (string != nullptr && string->length == text.size()) slot = {hash, string};
  return string;
}

// The record is written before another thread can get the id. If it cannot be written, no id is given out. So the text
// of every id in an event is in the shard, possibly in a later chunk of the file.
const InternedString* Names::intern_locked(ThreadLog& log, std::string_view text) {
  if (const auto found = strings_.find(text); found != strings_.end()) return found->second;
  const InternedString* string = make_string(static_cast<std::uint32_t>(strings_by_id_.size() + 1), text);
  if (string == nullptr || !write_string(log, *string)) {
    std::free(const_cast<InternedString*>(string));
    return nullptr;
  }
  strings_.emplace(string->view(), string);
  strings_by_id_.push_back(string);
  return string;
}

std::uint32_t Names::intern(ThreadLog& log, std::string_view text) {
  const InternedString* string = intern_string(log, text);
  return string == nullptr ? 0 : string->id;
}

std::uint32_t Names::intern_wide(ThreadLog& log, const wchar_t* text) {
  return text == nullptr ? 0 : intern(log, utf8(text));
}

std::string_view Names::text(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  return id == 0 || id > strings_by_id_.size() ? std::string_view() : strings_by_id_[id - 1]->view();
}

Domain* Names::create_domain(ThreadLog& log, std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = domains_.try_emplace(std::string(name), nullptr);
  if (!fresh) return found->second;
  if (domains_.size() >= overflow_domain) {
    domains_.erase(found);
    const auto [shared, first] = domains_.try_emplace("(further domains)", nullptr);
    if (!first) return shared->second;
    const InternedString* string = intern_locked(log, shared->first);
    shared->second = new Domain{overflow_domain, string == nullptr ? 0 : string->id};
    write_domain(log, *shared->second);
    return shared->second;
  }
  const InternedString* string = name.empty() ? nullptr : intern_locked(log, name);
  found->second = new Domain{static_cast<std::uint16_t>(domains_.size()), string == nullptr ? 0 : string->id};
  write_domain(log, *found->second);
  return found->second;
}

void Names::name_category(ThreadLog& log, std::uint32_t domain, std::uint32_t category, std::uint32_t name_id) {
  trace::CategoryRecord record{};
  record.domain = domain;
  record.category = category;
  const std::lock_guard lock(mutex_);
  categories_.push_back({domain, category, name_id});
  write_record(log, RecordType::category, name_id, monotonic_ns(), record);
}

std::uint64_t Names::add_schema(ThreadLog& log, Schema schema, std::uint64_t wanted_id) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = wanted_id != 0 ? wanted_id : first_dynamic_schema_id + schemas_.size();
  schema.recorded_id = process_wide_id(schema.domain, id);
  if (const auto known = schemas_by_id_.find(schema.recorded_id); known != schemas_by_id_.end()) return id;
  schemas_.push_back(std::move(schema));
  const Schema& kept = schemas_.back();
  schemas_by_id_.emplace(kept.recorded_id, &kept);
  if (kept.enum_type == 0) write_schema(log, kept);
  return id;
}

const Schema* Names::find_schema(ThreadLog& log, std::uint32_t domain, std::uint64_t id) {
  ThreadLog::SchemaSlot& slot = log.schema_slot(id);
  if (slot.schema != nullptr && slot.id == id && slot.domain == domain) [[likely]]
    return slot.schema;
  const std::lock_guard lock(mutex_);
  const auto found = schemas_by_id_.find(process_wide_id(domain, id));
  if (found == schemas_by_id_.end()) return nullptr;
  slot = {id, domain, found->second};
  return found->second;
}

void Names::write_all(ThreadLog& log) {
  const std::lock_guard lock(mutex_);
  for (const InternedString* string : strings_by_id_) write_string(log, *string);
  for (const auto& [name, domain] : domains_) write_domain(log, *domain);
  for (const Category& category : categories_) {
    trace::CategoryRecord record{};
    record.domain = category.domain;
    record.category = category.category;
    write_record(log, RecordType::category, category.name_id, monotonic_ns(), record);
  }
  for (const Schema& schema : schemas_) {
    if (schema.enum_type == 0) write_schema(log, schema);
  }
}

}  // namespace ddpprof::record
