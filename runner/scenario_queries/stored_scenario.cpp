#include "runner/scenario_queries/stored_scenario.hpp"

#include <SQLiteCpp/Exception.h>

#include <utility>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "runner/scenario/read.hpp"
#include "tracer/store/rows/queries.hpp"

namespace ddpprof::scenario_queries {

std::optional<StoredScenario> stored_scenario_text(store::Database& database) {
  try {
    std::vector<store::ScenarioRow> scenarios = store::read_scenarios(database.sql());
    if (scenarios.empty()) return std::nullopt;
    return StoredScenario{std::move(scenarios.back().name), std::move(scenarios.back().resolved)};
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
