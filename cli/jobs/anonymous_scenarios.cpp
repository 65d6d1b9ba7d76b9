#include "cli/jobs/anonymous_scenarios.hpp"

#include <SQLiteCpp/Exception.h>

#include <filesystem>
#include <string>

#include "cli/failure.hpp"
#include "runner/scenario/read.hpp"
#include "tracer/store/rows/queries.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

// The command's placeholders, without its words.
std::vector<std::string> anonymous_command(const std::vector<std::string>& words) {
  std::vector<std::string> command = {"command"};
  for (const char* placeholder : {"{workers}", "{nodes}", "{batch}", "{lr}", "{folder}"})
    for (const std::string& word : words)
      if (word.find(placeholder) != std::string::npos) {
        command.emplace_back(placeholder);
        break;
      }
  return command;
}

export_::AnonymousScenario anonymous_scenario(const store::ScenarioRow& row, std::int64_t number,
                                              const std::string& database) {
  scenario::ReadResult read = scenario::read_text(row.resolved, "scenario '" + row.name + "' in " + database);
  if (!read.problems.empty())
    throw Failure(ExitCode::data, read.problems.front().text(), "a scenario of this version of ddpprof",
                  "measure again with this version");
  export_::AnonymousScenario made;
  made.id = row.id.value_or(number);
  made.name = "scenario-" + std::to_string(number);
  scenario::Scenario& scenario = read.scenario;
  const std::string label = scenario.workload.model.label();
  const auto replace = [&](std::string& original, const std::string& replacement) {
    if (original.empty()) return;
    made.replaced.emplace_back(original, replacement);
    made.replaced.emplace_back(fs::path(original).filename().string(), replacement);
    original = replacement;
  };
  replace(scenario.name, made.name);
  made.replaced.emplace_back(row.path, made.name + ".yaml");
  replace(scenario.workload.model.file, made.name + "-model.pt");
  replace(scenario.workload.data.path, made.name + "-data");
  replace(scenario.checkpoint.folder, made.name + "-checkpoints");
  replace(scenario.checkpoint.resume, made.name + "-checkpoint.pt");
  replace(scenario.output.database, made.name + ".db");
  replace(scenario.output.csv, made.name + "-csv");
  replace(scenario.output.chrome, made.name + ".json");
  if (scenario.has_command()) {
    for (const std::string& word : scenario.command.words)
      if (word.size() > 3 && word.find('{') == std::string::npos) made.replaced.emplace_back(word, "word");
    scenario.command.words = anonymous_command(scenario.command.words);
  } else {
    made.replaced.emplace_back(label, scenario.workload.model.label());
  }
  made.yaml = scenario::to_yaml(scenario);
  return made;
}

}  // namespace

std::vector<export_::AnonymousScenario> anonymous_scenarios(store::Database& database) {
  try {
    std::vector<export_::AnonymousScenario> all;
    for (const store::ScenarioRow& row : store::read_scenarios(database.sql()))
      all.push_back(anonymous_scenario(row, static_cast<std::int64_t>(all.size()) + 1, database.path().string()));
    return all;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

}  // namespace ddpprof::cli
