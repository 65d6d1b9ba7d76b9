// Reads a shard that the tracer recorded of a user's program into a rank's trace. Its NVTX ranges are interpreted as in
// other profilers' files; CUPTI's records become device work.
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
  ingest::ShardTrace recorded;  // header data of the shard: the process, lost records
  bool steps_by_repetition = false;
  std::string step_name;               // name of the ranges used as steps
  std::optional<Note> bounds;          // what was left out, if recording was bounded
  std::int64_t phases_by_threads = 0;  // backwards found only from the launching threads
};

// Reads one shard. Raw events go to `sink`, unless it is null, as `source`. Throws store::ShardError.
RecordedProcess read_recorded(const std::filesystem::path&, const SortOptions&, RawSink* sink, std::size_t source);

}  // namespace ddpprof::import
