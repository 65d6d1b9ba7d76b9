// Compares the steps of a job with the profiler and without it.
#pragma once

#include <optional>
#include <span>

#include "analysis/import/trace/training.hpp"
#include "analysis/ingest/measurement_writer.hpp"

namespace ddpprof::import {

// Returns a note with the medians of both kinds of steps (means over the ranks). None if a kind is missing.
std::optional<Note> note_on_profiler_cost(std::span<const ingest::LoadedShard> shards);

}  // namespace ddpprof::import
