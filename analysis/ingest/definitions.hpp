// First pass over a shard: its strings, domains, payload schemas and thread names, which may be anywhere in it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracer/store/shard/payload.hpp"
#include "tracer/store/shard/shard_reader.hpp"

namespace ddpprof::ingest {

class Definitions : public store::ShardVisitor {
 public:
  void on_chunk(std::int64_t os_tid) override { tid_ = os_tid; }
  void on_string(std::uint32_t id, std::string_view bytes) override;
  void on_thread_name(const trace::RecordHeader& header) override { thread_names_[tid_] = header.name_id; }
  void on_domain(const trace::DomainRecord& record) override;
  void on_schema(const trace::SchemaRecord& record, std::span<const trace::SchemaField> fields) override;
  void finish();  // call it after the pass: sets the names of schemas

  std::string_view text(std::uint32_t id) const;  // "" for 0, "(unnamed)" for an undefined id
  std::string_view domain_name(std::uint32_t id) const;
  std::map<std::int64_t, std::string> thread_names() const;
  const store::PayloadDecoder& payloads() const { return payloads_; }

 private:
  std::int64_t tid_ = 0;
  std::unordered_map<std::uint32_t, std::string> strings_;
  std::unordered_map<std::uint64_t, std::uint32_t> domains_;
  std::map<std::int64_t, std::uint32_t> thread_names_;
  std::vector<std::pair<trace::SchemaRecord, std::vector<trace::SchemaField>>> schemas_;
  store::PayloadDecoder payloads_;
};

}  // namespace ddpprof::ingest
