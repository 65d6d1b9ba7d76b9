// Whether the ranks of an import can be of one training.
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

// What differs among them and who differs from most: kind of device, backend, size of the gradients, micro-batches and
// their samples (ranks_unlike, a warning), number of steps (steps_unlike). Of trainings that are no data parallel ones
// gradients may differ, as ranks hold other parts of the model. What a file does not say differs from nothing.
std::vector<Note> notes_on_unlike(std::span<const RankOfFile>);

}  // namespace ddpprof::import
