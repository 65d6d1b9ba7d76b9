// Reads what the tracer recorded of somebody's own program, a shard, into a rank's trace: its NVTX ranges mean what
// they mean in other profilers' files, CUPTI's records are its device's.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "analysis/import/sort/external_sorter.hpp"
#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/raw_events.hpp"
#include "analysis/import/trace/training.hpp"
#include "analysis/ingest/shard_trace.hpp"
#include "tracer/store/shard/shard_reader.hpp"

namespace ddpprof::import {

struct RecordedProcess {
  explicit RecordedProcess(const SortOptions& sort) : trace(sort) {}

  RankTrace trace;
  ingest::ShardTrace recorded;  // what the shard says of itself: who it was, what was lost
  bool steps_by_repetition = false;
  std::string step_name;               // what the ranges are called that were taken for steps
  std::optional<Note> bounds;          // what was left out, where not everything was asked for
  std::int64_t phases_by_threads = 0;  // backwards that only the launching threads told
};

// Raw events go to `sink`, where there is one, as `source`. Throws store::ShardError.
RecordedProcess read_recorded(const std::filesystem::path&, const SortOptions&, RawSink* sink, std::size_t source);

}  // namespace ddpprof::import
