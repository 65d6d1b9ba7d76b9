// Updates a database of an older schema version, one version per step.
#pragma once

#include <span>
#include <string_view>

namespace SQLite {
class Database;
}

namespace ddpprof::store {

struct Migration {
  int from = 0;          // updates from this PRAGMA user_version to the next
  std::string_view doc;  // the change
  std::string_view sql;  // statements, run inside the migration's transaction
};

// In ascending order of `from`, starting with version 1.
std::span<const Migration> migrations();

// Updates `sql` from version `from` to `to` in one transaction: all steps or none. Steps that another process has done
// meanwhile are skipped. Returns false without a change if a step is missing from `steps`. Throws SQLite::Exception if
// a step fails; the transaction is then rolled back.
bool migrate(SQLite::Database& sql, int from, int to, std::span<const Migration> steps);

}  // namespace ddpprof::store
