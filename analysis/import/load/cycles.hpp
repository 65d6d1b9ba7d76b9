// Joins the files of one process: a profiler's schedule that repeats writes one file per cycle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/import/load/read_rank.hpp"

namespace ddpprof::import {

// A file whose facts became part of an earlier file's. Its raw events move to that file's source.
struct JoinedCycle {
  std::size_t from = 0, into = 0;  // source numbers
  std::int64_t shift_ns = 0;       // add to the raw events' times
};

// Files are cycles of one process if they have the same process id, devices, rank and world size, and their spans do
// not overlap. Joins them in order of time, and removes the later ones from `files`. Adds a note to each rank that was
// joined.
std::vector<JoinedCycle> join_cycles(std::vector<ReadRank>& files);

}  // namespace ddpprof::import
