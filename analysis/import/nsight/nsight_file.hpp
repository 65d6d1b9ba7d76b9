// Opens an Nsight Systems SQLite export for reading without changing it: its tables, their columns, and scans of rows.
//
// Tables and columns differ between versions. A missing column is read as NULL. The file and its folder need not be
// writable.
#pragma once

#include <SQLiteCpp/Database.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3_stmt;

namespace ddpprof::import {

// Thrown if the file cannot be read, is not an export, or is too damaged to be recognised. The message does not contain
// the file's name.
class NotAnExport : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class NsightFile {
 public:
  // Throws NotAnExport.
  explicit NsightFile(const std::filesystem::path&);

  bool has(std::string_view table) const { return tables_.contains(table); }
  bool has(std::string_view table, std::string_view column) const;
  // Returns true if the column is the table's key, so that SQLite finds a row by it.
  bool is_key(std::string_view table, std::string_view column) const;
  // The file is shorter than its header states.
  bool truncated() const { return truncated_; }
  // The reason why the list of tables is incomplete; none: it is complete.
  const std::optional<std::string>& schema_damage() const { return schema_damage_; }
  SQLite::Database& sql() { return *sql_; }

 private:
  struct Table {
    std::set<std::string, std::less<>> columns;
    std::string key;
  };
  void read_schema();
  void read_what_is_left(std::string_view why);

  std::unique_ptr<SQLite::Database> sql_;
  std::map<std::string, Table, std::less<>> tables_;
  bool truncated_ = false;
  std::optional<std::string> schema_damage_;
};

// Reads all rows of a table in the order of the file, one at a time.
class Scan {
 public:
  Scan(NsightFile&, std::string_view table, std::span<const std::string_view> columns);

  // Returns false after the last row, or if the file is damaged; problem() then returns the reason.
  bool next();
  std::int64_t rowid() const;
  bool is_null(int column) const;
  // None: NULL, no such column, or not a whole number.
  std::optional<std::int64_t> integer(int column) const;
  // Valid until the next row; empty for NULL.
  std::string_view text(int column) const;
  std::span<const std::byte> bytes(int column) const;
  std::int64_t rows() const { return rows_; }
  const std::optional<std::string>& problem() const { return problem_; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt*) const;
  };
  SQLite::Database& sql_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::optional<std::string> problem_;
  std::int64_t rows_ = 0;
};

}  // namespace ddpprof::import
