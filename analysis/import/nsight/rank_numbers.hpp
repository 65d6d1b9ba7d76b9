// Which rank each of a file's (process, device) pairs was, where the file says so.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/import/nsight/nsight_tables.hpp"

namespace ddpprof::import {

// A communicator as a process made it: ncclCommInitRank and the like.
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

// One a place, in the places' order: by the largest communicator, which must be one for all of them and give each
// another rank; else, of a file with one place, by the environment of the profiler that was started with it. Empty:
// neither says it.
std::vector<RankNumber> rank_numbers(const std::vector<RankPlace>&, const std::vector<NcclMember>&,
                                     const SessionFacts&);

}  // namespace ddpprof::import
