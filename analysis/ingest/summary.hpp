// Converts one shard's facts into step rows: phases, compute, communication and their overlap. Pure. ingest.hpp has the
// definitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/ingest/shard_trace.hpp"
#include "tracer/store/rows/summary_rows.hpp"

namespace ddpprof::ingest {

// Rows have no ids yet. Matching sets the skew (matching.hpp).
struct StepSummary {
  store::StepRow row;
  std::vector<store::PhaseRow> phases;     // measured and unwrapped steps
  std::vector<store::GradReadyRow> grads;  // measured steps
};

struct CollectiveSummary {
  CollectiveFact fact;
  std::optional<std::size_t> step;  // index into ShardSummary::steps
  std::optional<std::int64_t> ready_ns, transfer_ns, skew_ns;

  std::optional<std::int64_t> duration_ns() const {
    if (!fact.start_ns || !fact.end_ns) return std::nullopt;
    return *fact.end_ns - *fact.start_ns;
  }
};

struct ShardSummary {
  std::vector<StepSummary> steps;
  std::vector<CollectiveSummary> collectives;  // by (communicator, sequence)
};

std::string_view step_kind_text(vocabulary::StepKind);
std::string_view collective_op_text(std::int32_t op);

ShardSummary summarise(const ShardTrace&);

}  // namespace ddpprof::ingest
