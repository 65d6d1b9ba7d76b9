// Finds the rank of each (process, device) pair of a file, if the file contains it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/import/nsight/nsight_tables.hpp"

namespace ddpprof::import {

// A communicator created by a process, with ncclCommInitRank or similar.
struct NcclMember {
  std::int64_t process = 0;
  std::uint64_t communicator = 0;
  std::int64_t ranks = 0, rank = 0;
  std::optional<std::int64_t> device;
};

struct RankNumber {
  std::int64_t rank = 0, world_size = 0;
};

struct RankPlace {
  std::int64_t process = 0, device = 0;
};

// Returns one element per place, in the same order. Uses the largest communicator, which must be the same for all
// places and give each a different rank. Otherwise, for a file with one place, uses the environment of the profiler.
// Empty: neither gives the ranks.
std::vector<RankNumber> rank_numbers(const std::vector<RankPlace>&, const std::vector<NcclMember>&,
                                     const SessionFacts&);

}  // namespace ddpprof::import
