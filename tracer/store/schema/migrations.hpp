// Moves a database of an older schema version forward, one version a step.
#pragma once

#include <span>
#include <string_view>

namespace SQLite {
class Database;
}

namespace ddpprof::store {

struct Migration {
  int from = 0;          // leads from this PRAGMA user_version to the next
  std::string_view doc;  // what changes
  std::string_view sql;  // statements, run inside the migration's transaction
};

// In ascending order of `from`, from version 1, the first, on.
std::span<const Migration> migrations();

// Brings `sql` from version `from` to `to` in one transaction: all steps or none. What another process has brought
// forward meanwhile is left as it is. Returns false, having changed nothing, when a step is missing from `steps`.
// Throws SQLite::Exception when a step fails (rolled back).
bool migrate(SQLite::Database& sql, int from, int to, std::span<const Migration> steps);

}  // namespace ddpprof::store
