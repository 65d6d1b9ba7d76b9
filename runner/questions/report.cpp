#include "runner/questions/report.hpp"

#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"
#include "runner/questions/rates.hpp"
#include "runner/questions/stored_scenario.hpp"

namespace ddpprof::questions {
namespace {

// What the file's scenario asks, read when it is first wanted: a report may want the rates alone, or nothing of it.
class Asked {
 public:
  explicit Asked(store::Database& database) : database_(database) {}

  // learning_rate and warmup; none where the scenario is not understood: what was stored is then all there is.
  std::vector<report::Table> rates() {
    try {
      read();
      if (scenario_) return report::rate_tables(question_.options);
    } catch (const fit::NotSupported&) {
    } catch (const std::invalid_argument&) {
    }
    return {};
  }

  std::vector<report::Table> plans() {
    try {
      read();
      return scenario_ ? plan_tables(question_, *scenario_, database_) : std::vector<report::Table>{};
    } catch (const fit::NotSupported& error) {
      return none(error.what());
    } catch (const std::invalid_argument& error) {  // a number of workers or samples that no training has
      return none(error.what());
    }
  }

 private:
  void read() {
    if (read_) return;
    if (const auto scenario = stored_scenario(database_)) {
      question_ = stored_question(*scenario, database_, metrics::measured_noise(database_));
      scenario_ = scenario;
    }
    read_ = true;
  }

  static std::vector<report::Table> none(const char* why) {
    report::Table table;
    table.name = "learning_rate_rules";
    table.title = "Learning rate by rule";
    table.empty = why;
    return {table};
  }

  store::Database& database_;
  bool read_ = false;
  std::optional<scenario::Scenario> scenario_;
  RateQuestion question_;
};

}  // namespace

report::Report build_report(store::Database& database, std::string_view name, metrics::OverlapRule rule) {
  Asked asked(database);
  return report::build_report(database, name, rule,
                              {[&asked] { return asked.rates(); }, [&asked] { return asked.plans(); }});
}

}  // namespace ddpprof::questions
