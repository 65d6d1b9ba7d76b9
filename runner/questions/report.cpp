#include "runner/questions/report.hpp"

#include "analysis/report/learning_rate_tables.hpp"
#include "runner/questions/rates.hpp"
#include "runner/questions/stored_scenario.hpp"

namespace ddpprof::questions {
namespace {

// The file's scenario, and what it asks; nothing without one.
struct Asked {
  scenario::Scenario scenario;
  RateQuestion question;
};
std::optional<Asked> asked_by(store::Database& database) {
  const auto scenario = stored_scenario(database);
  if (!scenario) return std::nullopt;
  return Asked{*scenario, stored_question(*scenario, database, report::measured_noise(database))};
}

std::vector<report::Table> plans_of_the_scenario(store::Database& database) {
  const auto none = [](const char* why) {
    report::Table table;
    table.name = "learning_rate_rules";
    table.title = "Learning rate by rule";
    table.empty = why;
    return std::vector<report::Table>{table};
  };
  try {
    const auto asked = asked_by(database);
    if (!asked) return {};
    return plan_tables(asked->question, asked->scenario, database);
  } catch (const fit::NotSupported& error) {
    return none(error.what());
  } catch (const std::invalid_argument& error) {  // a number of workers or samples that no training has
    return none(error.what());
  }
}

// None where the scenario is not understood: what was stored is then all there is.
std::vector<report::Table> rates_of_the_scenario(store::Database& database) {
  try {
    const auto asked = asked_by(database);
    if (!asked) return {};
    return report::rate_tables(asked->question.options);
  } catch (const fit::NotSupported&) {
  } catch (const std::invalid_argument&) {
  }
  return {};
}

}  // namespace

report::Report build_report(store::Database& database, std::string_view name, report::OverlapRule rule) {
  return report::build_report(
      database, name, rule,
      {[&] { return rates_of_the_scenario(database); }, [&] { return plans_of_the_scenario(database); }});
}

}  // namespace ddpprof::questions
