// Which steps at the front of a recorded job are its warm-up: a recording begins with the program, where a profiler's
// user chose when to begin.
#pragma once

#include <optional>
#include <span>

#include "analysis/import/trace/training.hpp"
#include "analysis/ingest/measurement_writer.hpp"

namespace ddpprof::import {

// Sets the kind of the steps, on every rank alike: until the ranks' mean step time has settled (stats::warmup_end, from
// ten steps on), and until a step sends the messages that the last one sends (DDP reduces everything at once in its
// first step, and rebuilds its buckets after it). Never more than half of the steps that all ranks have; when it would
// be more, none; nor where bounds had the recording begin after the first step. Returns what was found, as a note;
// nothing when there is no warm-up.
std::optional<Note> mark_warmup(std::span<ingest::LoadedShard> shards);

}  // namespace ddpprof::import
