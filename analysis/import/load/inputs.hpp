// From what the user names (files, folders, patterns) to the files to import, and what each of them is.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddpprof::import {

enum class FileKind {
  json,        // a PyTorch profiler's trace, plain or compressed
  sqlite,      // an SQLite database of somebody else's: Nsight Systems
  ours,        // a database of ddpprof
  shard,       // what the tracer recorded of one process
  text,        // a table or a log
  unreadable,  // missing, a folder, or not permitted
};
FileKind kind_of(const std::filesystem::path&);

// A shard whose process was ended, or is still, between making the file and its header: no event comes before that.
bool is_shard_not_begun(const std::filesystem::path&);

// Folders give their traces, in the order of their names (*.json, *.json.gz, *.json.zst, *.sqlite, *.ddps but for those
// not begun); patterns with * ? [ that name no file as they stand give what they match. Numbers in names count as
// numbers: rank2 comes before rank10. Throws ImportError where a name gives nothing, or a file is given twice.
std::vector<std::filesystem::path> expand_inputs(const std::vector<std::string>& names);

}  // namespace ddpprof::import
