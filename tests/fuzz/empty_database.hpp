// A trace database in memory, empty for each input. Creating a new one would take longer than most inputs.
#pragma once

#include <SQLiteCpp/Database.h>

#include <string>

#include "tracer/store/database.hpp"

namespace ddpprof::fuzz {

inline store::Database& empty_database() {
  static store::Database database = store::Database::create(":memory:");
  std::string all;
  for (const store::Table& table : store::tables()) all += "DELETE FROM \"" + std::string(table.name) + "\";";
  database.sql().exec(all);
  return database;
}

}  // namespace ddpprof::fuzz
