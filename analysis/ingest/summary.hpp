// Turns one shard's facts into step rows: phases, compute, communication and their overlap. Pure; see ingest.hpp for
// the definitions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/ingest/shard_trace.hpp"
#include "tracer/store/summary_rows.hpp"

namespace ddpprof::ingest {

// Rows carry no ids yet; skew is filled in by match_collectives.
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

// The collectives of one rank, for matching. Transfer and skew are set where every rank that takes part in the
// communicator has a complete record, and every step's skew_ns to the union of its collectives' waiting (ingest.hpp).
struct RankCollectives {
  std::int64_t rank = 0;
  ShardSummary* summary = nullptr;
};
struct UnmatchedCollectives {
  std::int64_t count = 0;  // (communicator, sequence) without a complete record from every rank
  std::uint64_t first_communicator = 0, first_sequence = 0;
  std::vector<std::int64_t> first_missing;  // ranks
};
// `ranks_expected`: ranks whose absence from a communicator makes it unmatched; empty when every shard is there, so
// that sub-groups need only the ranks they were seen on.
UnmatchedCollectives match_collectives(std::span<const RankCollectives>, std::span<const std::int64_t> ranks_expected);

}  // namespace ddpprof::ingest
