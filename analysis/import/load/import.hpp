// Imports other profilers' files: one measurement per job, with the same rows as a run of ddpprof.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
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
  std::optional<std::int64_t> workers;  // number of ranks, for files that do not state it
  std::optional<std::int64_t> cores;    // of one host
  std::string model;                    // empty: the model name is taken from the first file's name
  std::string model_of_several;  // instead of the first file's name if the files are of several jobs; may be empty
  bool append = false;           // refuse a job that the database already has
  std::map<std::string, std::string> labels;          // are added to measurement.options
  std::filesystem::path temporary_folder;             // empty: the system's temporary folder
  std::size_t memory_bytes = std::size_t{256} << 20;  // for sorting, shared by all ranks that are read at the same time
  std::shared_ptr<ImportProgress> progress;           // may be null
  int threads = 0;  // files read at the same time; 0: 4, or the number of cores without raw events
};

struct ImportedJob {
  std::int64_t measurement_id = 0;
  std::int64_t ranks = 0, world_size = 0, steps = 0, events = 0;  // world_size 0: unknown
  std::int64_t batch_per_worker = 0;                              // 0: unknown
  std::filesystem::path file;                                     // of its first rank
};

// Sums over the jobs, and the largest world size.
struct ImportResult {
  std::int64_t measurement_id = 0;  // of the first job
  std::int64_t ranks = 0, world_size = 0, steps = 0, events = 0;
  std::vector<ImportedJob> jobs;
};

// Imports in one transaction: all rows or none. Throws ImportError if a file cannot be used (with several files: if
// none can be used; unusable files otherwise become diagnostics), if the jobs of the files cannot be told apart, or if
// an option does not apply to several jobs; OpenError, ImportStopped, store::DatabaseError.
ImportResult import_traces(store::Database&, const ImportOptions&);

}  // namespace ddpprof::import
