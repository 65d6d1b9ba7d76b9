// Finds the warm-up steps at the front of a recorded job. A recording begins with the program, while the user of a
// profiler chooses when it begins.
#pragma once

#include <optional>
#include <span>

#include "analysis/import/trace/training.hpp"
#include "analysis/ingest/measurement_writer.hpp"

namespace ddpprof::import {

// Marks warm-up steps, alike on every rank: until the mean step time of the ranks has settled (stats::warmup_end, from
// ten steps on), and until a step sends the same messages as the last step (DDP reduces everything at once in its first
// step and rebuilds its buckets after it). At most half of the steps that all ranks have; marks no step if it would be
// more, or if the recording was asked to begin after the first step. Returns a note about the result, or none without a
// warm-up.
std::optional<Note> mark_warmup(std::span<ingest::LoadedShard> shards);

}  // namespace ddpprof::import
