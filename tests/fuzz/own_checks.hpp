// What must hold of a database that was restored from an export of ours, whatever the export says.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <string>

#include "analysis/import/own/restore.hpp"
#include "tests/fuzz/all_rows.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::fuzz {

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
