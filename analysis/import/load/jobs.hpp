// Finds the jobs that the files of an import belong to. Each job becomes a measurement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/import/load/read_rank.hpp"

namespace ddpprof::import {

// Returns the files of each job, as indices, in the order of each job's first file. Files are divided by these facts,
// in this order:
// 1. the folder;
// 2. the number of ranks that distributedInfo states;
// 3. if a rank then occurs twice, or there are more files than ranks: the time of day, because the ranks of a job run
//    at the same time; then the number of ranks by the collectives; then batch, micro-batches, gradients, backend and
//    kind of device.
// Files of several folders are one job if their ranks differ, their facts are equal, and their times overlap or are not
// known. A rank that still occurs twice is left to assign_ranks().
//
// Throws ImportError if files may be ranks of one job or of several jobs. Such files are also those of two folders that
// ran at the same time and whose ranks, known by names alone, are equal: the names may have the ranks of each host.
std::vector<std::vector<std::size_t>> jobs_of(std::span<const ReadRank> files);

// Returns the rank of a file: the recorded one, otherwise the one in its name. None: unknown.
std::optional<std::int64_t> known_rank(const ReadRank&);

// Returns true for a file without any sign of other ranks.
bool of_one_process(const ReadRank&);

}  // namespace ddpprof::import
