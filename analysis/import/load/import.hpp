// Other profilers' files into one measurement of a database: the same rows as a run of our own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/import/load/read_rank.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::import {

struct ImportOptions {
  std::vector<std::filesystem::path> files;  // of one or more ranks each
  bool keep_raw = true;                      // every event, for the timeline and the exports
  std::optional<std::int64_t> batch_per_worker, parameter_bytes, nodes;
  std::optional<std::int64_t> cores;                  // of a host
  std::string model;                                  // empty: from the first file's name
  std::filesystem::path temporary_folder;             // empty: the system's
  std::size_t memory_bytes = std::size_t{256} << 20;  // for sorting, of all ranks that are read at the same time
  int threads = 0;  // files read at the same time; 0: 4, and without raw events as many as cores
};

struct ImportResult {
  std::int64_t measurement_id = 0;
  std::int64_t ranks = 0, world_size = 0, steps = 0, events = 0;
  std::vector<std::string> said;  // what the user should know before anything else: who was taken for which rank
};

// One transaction: all rows or none. Throws ImportError when a file cannot be used (of several, when none can; the
// others become diagnostics), OpenError, store::DatabaseError.
ImportResult import_traces(store::Database&, const ImportOptions&);

}  // namespace ddpprof::import
