#include "tracer/store/remove.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace ddpprof::store {
namespace {

bool has_column(const Table& table, std::string_view name) {
  return std::ranges::any_of(table.columns, [&](const Column& column) { return column.name == name; });
}

// Returns the condition for the measurement's rows in `table`; "" if the table does not refer to measurements.
std::string rows_of_measurement(const Table& table) {
  const std::string shards = "SELECT id FROM shard WHERE measurement_id = ?1";
  if (table.name == "measurement") return "id = ?1";
  if (has_column(table, "measurement_id")) return "measurement_id = ?1";
  if (has_column(table, "shard_id")) return fmt::format("shard_id IN ({})", shards);
  if (has_column(table, "step_id"))
    return fmt::format("step_id IN (SELECT id FROM step WHERE shard_id IN ({}))", shards);
  return "";
}

std::string unused_strings() {
  std::string used;
  for (const Table& table : tables()) {
    for (const Column& column : table.columns) {
      if (column.type.find("REFERENCES string(id)") == std::string_view::npos) continue;
      used += fmt::format("{}SELECT \"{}\" FROM \"{}\" WHERE \"{}\" IS NOT NULL", used.empty() ? "" : " UNION ",
                          column.name, table.name, column.name);
    }
  }
  return fmt::format("DELETE FROM string WHERE id NOT IN ({})", used);
}

}  // namespace

void remove_measurement(Database& database, std::int64_t measurement_id) {
  try {
    BulkLoad load(database);
    // In reverse order: a table comes after the tables it refers to, whose rows identify its own.
    for (auto table = tables().rbegin(); table != tables().rend(); ++table) {
      const std::string rows = rows_of_measurement(*table);
      if (rows.empty()) continue;
      SQLite::Statement remove(database.sql(), fmt::format("DELETE FROM \"{}\" WHERE {}", table->name, rows));
      remove.bind(1, measurement_id);
      remove.exec();
    }
    database.sql().exec(unused_strings());
    load.commit();
  } catch (const SQLite::Exception& failure) {
    throw translate(failure, database.path());
  }
}

}  // namespace ddpprof::store
