// Checks that the ranks of an import can belong to one training.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/import/load/read_rank.hpp"

namespace ddpprof::import {

struct RankOfFile {
  std::int64_t rank = 0;
  const ReadRank* file = nullptr;
};

// Returns notes about values that differ between ranks, and the ranks that differ from most: kind of device, backend,
// size of the gradients, micro-batches and their samples (code ranks_unlike, a warning), and number of steps
// (steps_unlike). Gradients may differ if the training is not data parallel, because ranks then hold different parts of
// the model. Values that a file does not record are not compared.
std::vector<Note> notes_on_differences(std::span<const RankOfFile>);

}  // namespace ddpprof::import
