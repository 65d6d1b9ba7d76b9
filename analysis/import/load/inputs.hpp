// Expands the names that the user gives (files, folders, patterns) to files, and detects the kind of each file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddpprof::import {

enum class FileKind {
  json,        // a trace of the PyTorch profiler, plain or compressed
  sqlite,      // another program's SQLite database: Nsight Systems
  ours,        // a database of ddpprof
  shard,       // a shard: the events that ddpprof's tracer recorded of one process
  text,        // a table or a log
  unreadable,  // missing, a folder, or not permitted
};
FileKind kind_of(const std::filesystem::path&);

// Returns true if the shard has no header yet: the process ended, or still is, between creating the file and writing
// its header. Such a shard has no events.
bool is_shard_not_begun(const std::filesystem::path&);

// Returns the files that `names` stand for. A folder gives its traces in the order of their names (*.json, *.json.gz,
// *.json.zst, *.sqlite, *.ddps; without shards that have no header); without a trace, those of its folders. A pattern
// with * ? [ that is not itself the name of a file gives the files that match it. Numbers in names compare as numbers:
// rank2 comes before rank10. Throws ImportError if a name gives no file, or if a file is given twice.
std::vector<std::filesystem::path> expand_inputs(const std::vector<std::string>& names);

}  // namespace ddpprof::import
