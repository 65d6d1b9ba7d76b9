// Finds the ranks among the processes of a recorded job that left shards.
//
// Every process that annotates leaves a shard: a rank, a data loader's worker that inherited its RANK, an earlier
// attempt of a launcher that restarts ranks, a helper without a rank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

struct RecordedJob {
  std::vector<std::filesystem::path> ranks;  // ordered by rank; for a job without ranks its single process
  std::vector<std::int64_t> numbers;         // the rank of each; empty for a job without ranks
  std::vector<Note> notes;                   // which processes were left out, and why
};

// Reads the shards' headers. If a rank occurs twice, or world sizes differ, also reads the last event of each shard:
// attempts of a job do not overlap in time, helpers of a rank do. A file that is not a shard becomes a note. Throws
// store::ShardError if a shard cannot be read to its end.
RecordedJob ranks_of_job(const std::vector<std::filesystem::path>& shards);

}  // namespace ddpprof::import
