// What must hold of a database that was restored from an export of ours, whatever the export says.
#pragma once

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <bit>
#include <cstdint>
#include <string>

#include "analysis/import/own/restore.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::fuzz {

// Every row of every table, in the order in which they lie there, each value with its type.
inline std::string all_rows(store::Database& database) {
  std::string all;
  for (const store::Table& table : store::tables()) {
    all += std::string(table.name) + '\n';
    SQLite::Statement query(database.sql(), "SELECT * FROM \"" + std::string(table.name) + "\" ORDER BY rowid");
    while (query.executeStep()) {
      for (int at = 0; at < query.getColumnCount(); ++at) {
        const SQLite::Column value = query.getColumn(at);
        all += static_cast<char>('0' + value.getType());
        all += value.isFloat() ? std::to_string(std::bit_cast<std::uint64_t>(value.getDouble())) : value.getString();
        all += '\x1f';
      }
      all += '\n';
    }
  }
  return all;
}

inline void check_restored(store::Database& database, const import::Restored& restored) {
  std::int64_t rows = 0, tables = 0;
  for (const store::Table& table : store::tables()) {
    const auto count = database.sql().execAndGet("SELECT count(*) FROM \"" + std::string(table.name) + "\"").getInt64();
    rows += count;
    tables += count > 0 ? 1 : 0;
  }
  require(rows == restored.rows && tables == restored.tables, "as many rows are there as were restored");
  SQLite::Statement dangling(database.sql(), "PRAGMA foreign_key_check");
  require(!dangling.executeStep(), "no row refers to one that is not there");
}

}  // namespace ddpprof::fuzz
