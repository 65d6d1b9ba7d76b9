#include "analysis/ingest/definitions.hpp"

#include "tracer/store/utf8.hpp"

namespace ddpprof::ingest {

void Definitions::on_string(std::uint32_t id, std::string_view bytes) { strings_[id] = store::to_valid_utf8(bytes); }

void Definitions::on_domain(const trace::DomainRecord& record) { domains_[record.domain] = record.header.name_id; }

void Definitions::on_schema(const trace::SchemaRecord& record, std::span<const trace::SchemaField> fields) {
  schemas_.emplace_back(record, std::vector(fields.begin(), fields.end()));
}

void Definitions::finish() {
  for (const auto& [record, fields] : schemas_)
    payloads_.define(record, fields, [this](std::uint32_t id) { return text(id); });
}

std::string_view Definitions::text(std::uint32_t id) const {
  if (id == 0) return "";
  const auto found = strings_.find(id);
  return found == strings_.end() ? std::string_view("(unnamed)") : std::string_view(found->second);
}

std::string_view Definitions::domain_name(std::uint32_t id) const {
  const auto found = domains_.find(id);
  return found == domains_.end() ? std::string_view("(unnamed)") : text(found->second);
}

std::map<std::int64_t, std::string> Definitions::thread_names() const {
  std::map<std::int64_t, std::string> names;
  for (const auto& [tid, id] : thread_names_) names.emplace(tid, text(id));
  return names;
}

}  // namespace ddpprof::ingest
