#include "runner/scenario_queries/stored_scenario.hpp"

#include <SQLiteCpp/Exception.h>

#include <utility>
#include <vector>

#include "runner/scenario/read.hpp"
#include "runner/scenario_queries/options.hpp"
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

namespace {

// Also of a user's own command.
std::optional<scenario::Scenario> last_scenario(store::Database& database) {
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

}  // namespace

std::optional<scenario::Scenario> stored_scenario(store::Database& database) {
  std::optional<scenario::Scenario> scenario = last_scenario(database);
  return scenario && !scenario->has_command() ? std::move(scenario) : std::nullopt;
}

std::optional<fit::PredictOptions> stored_predict_options(store::Database& database) {
  const std::optional<scenario::Scenario> scenario = last_scenario(database);
  return scenario ? std::optional(predict_options(*scenario)) : std::nullopt;
}

}  // namespace ddpprof::scenario_queries
