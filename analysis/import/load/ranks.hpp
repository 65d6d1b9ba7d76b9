// Assigns files to ranks, and matches the collectives of different ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/import/load/read_rank.hpp"
#include "analysis/ingest/measurement_writer.hpp"

namespace ddpprof::import {

// Returns the rank in a file's name: 1 for "trace_8_rank_1.json", 0 for "rank0.json.gz", none without a rank in the
// name. local_rank3 and node_rank1 are not the rank of the job.
std::optional<std::int64_t> rank_in_name(const std::filesystem::path&);

struct RankAssignment {
  // one per file; none: left out, because another file has the same rank
  std::vector<std::optional<std::int64_t>> ranks;
  std::int64_t world_size = 1;
  // False: the ranks communicate, but no file has their number, and the files are not the ranks from 0 on. world_size
  // is then a lower bound, and `missing` is empty.
  bool world_size_known = true;
  std::vector<std::int64_t> missing;
  std::vector<Note> notes;
};

// Assigns the files of one job (jobs.hpp). Takes the rank from the file's content, else from its name if the file has
// one rank, else from the order of the files.
RankAssignment assign_ranks(std::span<const ReadRank>);

// Gives the buckets of all ranks the sizes that were assumed on one rank: the one whose all-reduces are shortest,
// because it waited least for other ranks. Ranks with another number of buckets stay as they are.
void share_assumed_sizes(std::span<ingest::LoadedShard>);

// Numbers the collectives of each communicator alike on all ranks. Uses recorded numbers (`recorded`: all ranks have
// them), otherwise counts launches from the start of each trace. If traces began at different times, counted numbers do
// not agree; then (step, place in the step) is the number on all ranks. Returns the number of collectives whose kind or
// size still differs from another rank's. These cannot be matched, and each rank gets a communicator of its own for
// them.
std::int64_t number_collectives(std::span<ingest::LoadedShard>, bool recorded = false);

}  // namespace ddpprof::import
