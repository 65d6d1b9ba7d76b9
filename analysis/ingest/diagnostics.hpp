// Everything that was lost, refused or doubtful in a measurement, in stable codes with advice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ingest/matching.hpp"
#include "analysis/ingest/shard_trace.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::ingest {

enum class Severity { info, warning, error };

class Diagnostics {
 public:
  // A code that is added again for the same rank with the same message adds to the count. A rank
  // below 0, a process that has none, is stored as NULL.
  void add(std::optional<std::int64_t> rank, Severity, std::string code, std::int64_t count, std::string message,
           std::string advice);
  void add_shard(std::optional<std::int64_t> rank, const ShardTrace&);  // what one shard says about itself
  void add_unmatched(const UnmatchedCollectives&);
  std::vector<store::DiagnosticRow> rows(std::int64_t measurement_id) const;  // in the order they were added

 private:
  void add_gpu(std::optional<std::int64_t> rank, const ShardTrace&);  // what is missing of its GPU

  std::vector<store::DiagnosticRow> rows_;
};

}  // namespace ddpprof::ingest
