#include "runner/questions/report.hpp"

#include "runner/questions/rates.hpp"
#include "runner/questions/stored_scenario.hpp"

namespace ddpprof::questions {
namespace {

std::vector<report::Table> tables_of_the_scenario(store::Database& database) {
  const auto none = [](const char* why) {
    report::Table table;
    table.name = "learning_rate_rules";
    table.title = "Learning rate by rule";
    table.empty = why;
    return std::vector<report::Table>{table};
  };
  try {
    const auto scenario = stored_scenario(database);
    if (!scenario) return {};
    return plan_tables(stored_question(*scenario, database, report::measured_noise(database)), *scenario, database);
  } catch (const fit::NotSupported& error) {
    return none(error.what());
  } catch (const std::invalid_argument& error) {  // a number of workers or samples that no training has
    return none(error.what());
  }
}

}  // namespace

report::Report build_report(store::Database& database, std::string_view name, report::OverlapRule rule) {
  return report::build_report(database, name, rule, [&] { return tables_of_the_scenario(database); });
}

}  // namespace ddpprof::questions
