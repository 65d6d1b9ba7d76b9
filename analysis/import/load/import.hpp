// Imports other profilers' files as one measurement of a database, with the same rows as a run of ddpprof.
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
  std::vector<std::filesystem::path> files;  // each has one or more ranks
  bool keep_raw = true;                      // store every event, for the timeline and the exports
  std::optional<std::int64_t> batch_per_worker, parameter_bytes, nodes;
  std::optional<std::int64_t> cores;                  // of one host
  std::string model;                                  // empty: the model name is taken from the first file's name
  std::filesystem::path temporary_folder;             // empty: the system's temporary folder
  std::size_t memory_bytes = std::size_t{256} << 20;  // for sorting, shared by all ranks that are read at the same time
  int threads = 0;  // files read at the same time; 0: 4, or the number of cores without raw events
};

struct ImportResult {
  std::int64_t measurement_id = 0;
  std::int64_t ranks = 0, world_size = 0, steps = 0, events = 0;
};

// Imports in one transaction: all rows or none. Throws ImportError if a file cannot be used (with several files: if
// none can be used; unusable files otherwise become diagnostics), OpenError, store::DatabaseError.
ImportResult import_traces(store::Database&, const ImportOptions&);

}  // namespace ddpprof::import
