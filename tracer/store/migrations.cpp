#include "tracer/store/migrations.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Transaction.h>

#include <algorithm>
#include <string>

namespace ddpprof::store {

std::span<const Migration> migrations() { return {}; }

bool migrate(SQLite::Database& sql, int from, int to, std::span<const Migration> steps) {
  const auto step_from = [&](int version) {
    return std::find_if(steps.begin(), steps.end(), [&](const Migration& step) { return step.from == version; });
  };
  for (int version = from; version < to; ++version)
    if (step_from(version) == steps.end()) return false;
  SQLite::Transaction transaction(sql, SQLite::TransactionBehavior::IMMEDIATE);
  for (int version = from; version < to; ++version) sql.exec(std::string(step_from(version)->sql));
  sql.exec("PRAGMA user_version = " + std::to_string(to));
  transaction.commit();
  return true;
}

}  // namespace ddpprof::store
