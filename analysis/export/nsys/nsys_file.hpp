// The SQLite file of an Nsight-shaped export while it is made, with the trace database beside it to select from.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <memory>
#include <string>

#include "analysis/export/partial_file.hpp"

namespace ddpprof::export_ {

// One connection: the new file is `main`, the trace database `source`, which is only read. SQL functions of ours:
// valid_utf8(x): a text with what is no UTF-8 replaced, anything else as it is; kept(x): a text that holds such bytes
// as a blob of them, anything else as it is; demangled(x): kernel_name.hpp; base_name(x): nsys_names.hpp.
class NsysFile {
 public:
  // Writes to a file beside `path`, which is removed without finish(). Throws ExportError, SQLite::Exception.
  NsysFile(const std::filesystem::path& path, const std::filesystem::path& source);
  NsysFile(const NsysFile&) = delete;
  NsysFile& operator=(const NsysFile&) = delete;

  SQLite::Database& sql() { return *sql_; }
  std::int64_t rows(const std::string& insert);  // runs a statement; how many rows it changed
  void finish();                                 // commits, closes and renames

 private:
  PartialFile file_;  // outlives the connection
  std::unique_ptr<SQLite::Database> sql_;
};

}  // namespace ddpprof::export_
