#include "runner/scenario_queries/report.hpp"

#include <cctype>
#include <set>
#include <utility>

#include "analysis/fit/table/stored_steps.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/tables/step_table_prediction.hpp"
#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"
#include "analysis/report/tables/models/outlook_tables.hpp"
#include "analysis/report/tables/models/what_if_tables.hpp"
#include "runner/scenario_queries/options.hpp"
#include "runner/scenario_queries/rates.hpp"
#include "runner/scenario_queries/stored_scenario.hpp"

namespace ddpprof::scenario_queries {
namespace {

// The question of the file's scenario, read at its first use: some reports need only the rates, others nothing.
class ScenarioTables {
 public:
  // `options`: of predictions in place of those of the stored scenario; null: those of the scenario.
  // `models`: fitted before; null: fitted when needed.
  ScenarioTables(store::Database& database, const fit::PredictOptions* options,
                 std::shared_ptr<const fit::Models> models)
      : database_(database), options_(options), models_(std::move(models)) {}

  // The tables learning_rate and warmup. Empty if this version cannot read the scenario: then the stored tables are
  // used.
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
      return scenario_ ? plan_tables(question_, &*scenario_, database_) : std::vector<report::Table>{};
    } catch (const fit::NotSupported& error) {
      return none(error.what());
    } catch (const std::invalid_argument& error) {  // for example a number of workers or samples that is impossible
      return none(error.what());
    }
  }

  // Predicted from the measurements, because the database stores weak scaling only. Empty if the scenario measures one
  // batch, or if nothing can be predicted: then the stored diagnostics have the reason.
  std::vector<report::Table> strong() {
    try {
      const auto scenario = stored_scenario(database_);
      if (!scenario || scenario->measure.batches.size() < 2) return {};
      const fit::PredictOptions options = predict_options(*scenario);
      return {report::strong_predictions_table(
          fit::predict_strong_scaling(models(options, options_ == nullptr), options))};
    } catch (const fit::NotSupported&) {
    } catch (const std::invalid_argument&) {
    }
    return {};
  }

  // The tables what_helps, dedicated_predictions and rate_choice, as far as they can be computed.
  std::vector<report::Table> outlook() {
    std::vector<report::Table> tables;
    try {
      const fit::PredictOptions options =
          options_ != nullptr ? *options_ : stored_predict_options(database_).value_or(fit::PredictOptions{});
      const report::WorkersByStrategy asked = report::predicted_workers(database_);
      const bool modelled = asked.contains("ddp") || asked.contains("dp");
      // The parts of a step in a table of step times are not known.
      tables = !fit::stored_steps(database_).empty()
                   ? report::outlook_tables(database_, nullptr, {}, options)
                   : report::outlook_tables(database_, modelled ? models(options, true) : nullptr, asked, options);
    } catch (const fit::NotSupported&) {
    } catch (const std::invalid_argument&) {
    }
    try {
      tables.push_back(rate_choice());
    } catch (const fit::NotSupported&) {
    } catch (const std::invalid_argument&) {
    }
    return tables;
  }

 private:
  // `asked`: the options are those of outlook(), for which models_ is. Others may have other logs of collectives.
  std::shared_ptr<const fit::Models> models(const fit::PredictOptions& options, bool asked) {
    if (asked && models_) return models_;
    const auto fitted = std::make_shared<const fit::Models>(fit::fit_models(database_, options.all_reduce));
    if (asked) models_ = fitted;
    return fitted;
  }

  // Returns why a table of step times has no learning rate for other N; empty if it has one.
  std::string no_rate_of_table() {
    if (const auto kept = kept_batch(database_)) return kept_rate(*kept);
    std::set<std::int64_t> batches;
    for (const auto& [strategy, rows] : fit::by_strategy(fit::stored_steps(database_))) {
      const fit::TableQuestion question = fit::usual_question(rows);
      batches.insert(question.batch_per_worker * question.accumulation);
    }
    return batches.size() < 2 ? ""
                              : "The strategies of this table have different batches. ddpprof lr takes one of them.";
  }

  report::Table rate_choice() {
    read();
    RateQuestion question = scenario_ ? question_ : recorded_question(database_);
    if (!scenario_ && question.batch > 0) question.set_measured_noise_scale(metrics::measured_noise(database_));
    std::string none = scenario_ ? "" : no_rate_of_table();
    if (none.empty() && !question.no_rate.empty()) {
      none = question.no_rate + ".";
      none.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(none.front())));
    }
    if (question.batch > 0 && none.empty()) return report::rate_choice_table(question.choice());
    report::Table table;
    table.name = "rate_choice";
    table.title = "Learning rate for this optimizer";
    table.empty =
        none.empty() ? "Unknown, because the batch is not recorded. Give it with import --batch-per-worker." : none;
    return table;
  }

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
  const fit::PredictOptions* options_;
  std::shared_ptr<const fit::Models> models_;
  bool read_ = false;
  std::optional<scenario::Scenario> scenario_;
  RateQuestion question_;
};

}  // namespace

report::Report build_report(store::Database& database, std::string_view name, metrics::OverlapRule rule,
                            const fit::PredictOptions* options, std::shared_ptr<const fit::Models> models) {
  ScenarioTables tables(database, options, std::move(models));
  return report::build_report(database, name, rule,
                              {[&tables] { return tables.rates(); }, [&tables] { return tables.plans(); },
                               [&tables] { return tables.strong(); }, [&tables] { return tables.outlook(); }});
}

void replace_predictions(store::Database& database, const fit::PredictOptions& options) {
  const fit::PredictResult result = fit::predict_all(database, options);
  // SQLite takes a temporary table before a table of the file with the same name. Temporary tables are of this
  // connection alone, and a read-only one may have them.
  database.sql().exec(
      "PRAGMA temp_store = MEMORY;"
      "CREATE TEMP TABLE prediction AS SELECT * FROM main.prediction WHERE 0;"
      "CREATE TEMP TABLE diagnostic AS SELECT * FROM main.diagnostic ORDER BY rowid");
  fit::write_predictions(database, result);
}

}  // namespace ddpprof::scenario_queries
