// Writes a shard's raw events into the database as they are read.
#pragma once

#include <cstdint>

#include "analysis/ingest/shard_trace.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::ingest {

// One object serves all shards of a load, so that statements are prepared once.
class RawWriter : public RawSink {
 public:
  explicit RawWriter(store::Database& database)
      : strings_(database), ranges_(database), kernels_(database), copies_(database), calls_(database) {}
  void use_shard(std::int64_t shard_id) { shard_id_ = shard_id; }

  void range(const Range&) override;
  void kernel(const trace::KernelRecord&, std::string_view name) override;
  void copy(const trace::CopyRecord&) override;
  void api(const trace::ApiRecord&) override;

 private:
  std::int64_t shard_id_ = 0;
  store::StringInterner strings_;
  store::Inserter<store::RangeRow> ranges_;
  store::Inserter<store::KernelRow> kernels_;
  store::Inserter<store::MemcpyRow> copies_;
  store::Inserter<store::ApiCallRow> calls_;
};

}  // namespace ddpprof::ingest
