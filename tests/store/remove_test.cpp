#include "tracer/store/remove.hpp"

#include <SQLiteCpp/Statement.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/store/shard_builder.hpp"
#include "tracer/store/schema/schema.hpp"

namespace ddpprof::store {
namespace {

constexpr int shared_string = 100;

// Adds a row to every table that can refer to a measurement. Uses the schema, so that new tables are tested, too.
void add_measurement(Database& database, int number) {
  for (const Table& table : tables()) {
    if (table.name == "meta" || table.name == "scenario") continue;
    std::string values;
    int position = 0;
    for (const Column& column : table.columns) {
      const bool text = column.type.starts_with("TEXT");
      int value = number * 1000 + position++;
      if (column.name == "id" || column.name == "measurement_id" || column.name == "shard_id" ||
          column.name == "step_id" || column.name == "name_id")
        value = number;
      if (column.name == "domain_id") value = shared_string;
      values += (values.empty() ? "" : ", ") + (text ? "'" + std::to_string(value) + "'" : std::to_string(value));
    }
    database.sql().exec("INSERT INTO \"" + std::string(table.name) + "\" VALUES (" + values + ")");
  }
}

std::map<std::string, std::vector<std::string>> rows(Database& database) {
  std::map<std::string, std::vector<std::string>> all;
  for (const Table& table : tables()) {
    SQLite::Statement query(database.sql(), "SELECT * FROM \"" + std::string(table.name) + "\" ORDER BY rowid");
    while (query.executeStep()) {
      std::string row;
      for (int column = 0; column < query.getColumnCount(); ++column) row += query.getColumn(column).getString() + "|";
      all[std::string(table.name)].push_back(row);
    }
  }
  return all;
}

// Rows that do not belong to one measurement and must stay: fits, predictions and learning rates use all measurements.
void drop_conclusions(std::map<std::string, std::vector<std::string>>& all) {
  for (const char* table : {"fit", "prediction", "learning_rate"}) all.erase(table);
}

TEST(RemoveMeasurement, LeavesNothingOfItAndAllOfTheOthers) {
  test::TemporaryFolder folder;
  Database database = Database::create(folder / "a.db");
  database.sql().exec("PRAGMA foreign_keys = OFF; INSERT INTO string VALUES (100, 'shared')");
  add_measurement(database, 1);
  const auto before = [&] {
    auto all = rows(database);
    drop_conclusions(all);
    return all;
  }();
  ASSERT_GE(before.size(), 19u);  // all tables except meta and scenario
  add_measurement(database, 2);
  database.finish_load();
  remove_measurement(database, 2);
  auto after = rows(database);
  drop_conclusions(after);
  EXPECT_EQ(after, before);
}

TEST(RemoveMeasurement, RemovesAllOrNothing) {
  test::TemporaryFolder folder;
  Database database = Database::create(folder / "a.db");
  database.sql().exec("PRAGMA foreign_keys = OFF");
  add_measurement(database, 1);
  const auto before = rows(database);
  database.sql().exec("CREATE TRIGGER stay BEFORE DELETE ON measurement BEGIN SELECT RAISE(ABORT, 'no'); END");
  EXPECT_THROW(remove_measurement(database, 1), DatabaseError);
  EXPECT_EQ(rows(database), before);
}

}  // namespace
}  // namespace ddpprof::store
