// Which file is which rank's, and which of their collectives are the same one.
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

// "trace_8_rank_1.json": 1; "rank0.json.gz": 0; none where the name says nothing.
std::optional<std::int64_t> rank_in_name(const std::filesystem::path&);

struct Cast {
  std::vector<std::optional<std::int64_t>> ranks;  // one a file; none: left out, as another file has its rank
  std::int64_t world_size = 1;
  std::vector<std::int64_t> missing;
  std::vector<Note> notes;
};

// By the file's own word, else by its name where it is one rank's, else in the order of the files.
Cast cast_ranks(std::span<const ReadRank>);

// Collectives of one communicator have the numbers that were recorded (`recorded`: on all ranks), else they are counted
// by launch from the start of each trace. Where traces began at different moments, counted numbers do not fit: then
// (step, place within the step) numbers them on all ranks. Returns how many were still of another kind or size on
// another rank and cannot be matched; their communicator becomes their own.
std::int64_t number_alike(std::span<ingest::LoadedShard>, bool recorded = false);

}  // namespace ddpprof::import
