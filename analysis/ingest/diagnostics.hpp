// Collects what was lost or refused in a measurement, and what may be wrong, as stable codes with advice.
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
  // Adding a code again for the same rank with the same message adds to its count. A rank below 0 (a process without a
  // rank) is stored as NULL.
  void add(std::optional<std::int64_t> rank, Severity, std::string code, std::int64_t count, std::string message,
           std::string advice);
  void add_shard(std::optional<std::int64_t> rank, const ShardTrace&);  // adds the diagnostics of one shard
  void add_unmatched(const UnmatchedCollectives&);
  std::vector<store::DiagnosticRow> rows(std::int64_t measurement_id) const;  // in the order of addition

 private:
  void add_gpu(std::optional<std::int64_t> rank, const ShardTrace&);  // adds what is missing of the GPU's activity

  std::vector<store::DiagnosticRow> rows_;
};

}  // namespace ddpprof::ingest
