// The SQLite file of an Nsight-format export while it is written, with the trace database attached for queries.
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <memory>
#include <string>

#include "analysis/export/partial_file.hpp"

namespace ddpprof::export_ {

// Has one connection: the new file is `main`, the trace database is `source` and only read. It defines these SQL
// functions:
// - valid_utf8(x): a text with invalid UTF-8 replaced; any other value unchanged;
// - kept(x): a text with invalid UTF-8 as a blob; any other value unchanged;
// - demangled(x): see kernel_name.hpp;
// - base_name(x): see nsys_names.hpp.
class NsysFile {
 public:
  // Writes to a file beside `path`, which is removed without finish(). Throws ExportError, SQLite::Exception.
  NsysFile(const std::filesystem::path& path, const std::filesystem::path& source);
  NsysFile(const NsysFile&) = delete;
  NsysFile& operator=(const NsysFile&) = delete;

  SQLite::Database& sql() { return *sql_; }
  std::int64_t rows(const std::string& insert);  // runs a statement; returns the number of changed rows
  void finish();                                 // commits, closes and renames

 private:
  PartialFile file_;  // must outlive the connection
  std::unique_ptr<SQLite::Database> sql_;
};

}  // namespace ddpprof::export_
