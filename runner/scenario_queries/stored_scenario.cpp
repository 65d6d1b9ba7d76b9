#include "runner/scenario_queries/stored_scenario.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>

#include "analysis/fit/predict.hpp"
#include "runner/scenario/read.hpp"

namespace ddpprof::scenario_queries {

std::optional<StoredScenario> stored_scenario_text(store::Database& database) {
  try {
    SQLite::Statement query(database.sql(), "SELECT name, resolved FROM scenario ORDER BY id DESC LIMIT 1");
    if (!query.executeStep()) return std::nullopt;
    return StoredScenario{query.getColumn(0).getString(), query.getColumn(1).getString()};
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

std::optional<scenario::Scenario> stored_scenario(store::Database& database) {
  const std::optional<StoredScenario> stored = stored_scenario_text(database);
  if (!stored) return std::nullopt;
  const scenario::ReadResult result =
      scenario::read_text(stored->text, "scenario '" + stored->name + "' in " + database.path().string());
  if (!result.problems.empty()) {
    throw fit::NotSupported(result.problems.front().text() + " (expected a scenario of this version of ddpprof)",
                            "measure again with this version");
  }
  return result.scenario;
}

}  // namespace ddpprof::scenario_queries
