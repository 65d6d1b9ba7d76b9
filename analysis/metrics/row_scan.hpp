// Reads millions of rows with SQLite's C interface, which costs a third of the wrapper's time per row.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace ddpprof::metrics {

// Called every few thousand rows; if it returns true, the remaining rows are skipped.
using Stopped = std::function<bool()>;

// Calls `visit` for each row. Returns false if stopped. Throws SQLite::Exception.
template <class Visit>
bool each_row(SQLite::Database& db, const char* sql, const Stopped& stopped, Visit&& visit) {
  constexpr std::int64_t rows_between_checks = 16384;
  sqlite3_stmt* raw = nullptr;
  if (const int code = sqlite3_prepare_v2(db.getHandle(), sql, -1, &raw, nullptr); code != SQLITE_OK)
    throw SQLite::Exception(db.getHandle(), code);
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
  std::int64_t unchecked = 0;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
    visit(raw);
    if (++unchecked < rows_between_checks) continue;
    unchecked = 0;
    if (stopped && stopped()) return false;
  }
  if (code != SQLITE_DONE) throw SQLite::Exception(db.getHandle(), code);
  return true;
}

}  // namespace ddpprof::metrics
