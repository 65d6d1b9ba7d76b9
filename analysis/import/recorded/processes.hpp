// Which of the processes that a recorded job left shards of are its ranks.
//
// Every process that annotates leaves one: a rank, a data loader's worker that inherited its RANK, an earlier attempt
// of a launcher that starts ranks anew, a helper without a rank.
#pragma once

#include <filesystem>
#include <vector>

#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

struct RecordedJob {
  std::vector<std::filesystem::path> ranks;  // in the order of their numbers; of a job without ranks its one process
  std::vector<Note> notes;                   // which were left out, and why
};

// Reads the shards' headers, and where ranks are there twice or in two numbers also when each recorded last: attempts
// of a job do not overlap in time, helpers of a rank do. A shard that is none becomes a note. Throws store::ShardError
// when one cannot be read to its end.
RecordedJob ranks_of_job(const std::vector<std::filesystem::path>& shards);

}  // namespace ddpprof::import
