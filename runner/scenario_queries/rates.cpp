#include "runner/scenario_queries/rates.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/fit/table/stored_steps.hpp"
#include "analysis/metrics/loss_curves.hpp"
#include "analysis/metrics/recorded_training.hpp"
#include "analysis/predict/sharded/sharded_prediction.hpp"
#include "analysis/predict/tables/step_table_prediction.hpp"
#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"
#include "analysis/report/tables/learning_rate/schedule_tables.hpp"
#include "analysis/report/tables/learning_rate/target_cost.hpp"
#include "analysis/report/tables/learning_rate/time_to_target.hpp"
#include "analysis/report/tables/learning_rate/trained_rates_table.hpp"
#include "analysis/report/tables/learning_rate/training_times.hpp"
#include "runner/scenario_queries/options.hpp"
#include "runner/scenario_queries/stored_scenario.hpp"
#include "runner/scenario_queries/trained.hpp"

namespace ddpprof::scenario_queries {
namespace {

// Returns the N of the stored predictions if there are several, otherwise the powers of two from the smallest measured
// N to 64.
std::vector<std::int64_t> answered_workers(SQLite::Database& database) {
  std::vector<std::int64_t> workers;
  SQLite::Statement predicted(database, "SELECT DISTINCT world_size FROM prediction ORDER BY world_size");
  while (predicted.executeStep()) workers.push_back(predicted.getColumn(0).getInt64());
  if (workers.size() > 1) return workers;
  workers.clear();
  SQLite::Statement measured(database, "SELECT MIN(world_size) FROM measurement WHERE kind <> 'bench-comm'");
  std::int64_t next = measured.executeStep() ? measured.getColumn(0).getInt64() : 1;
  for (; next > 0 && next <= 64; next *= 2) workers.push_back(next);
  return workers;
}

struct Times {
  std::vector<report::TrainingTime> rows;
  std::string why_none;
};

// The scenario of a user's own command has options of predictions, but no rate: `scenario` is then nullptr.
fit::PredictOptions asked_predictions(const scenario::Scenario* scenario, store::Database& database) {
  if (scenario != nullptr) return predict_options(*scenario);
  return stored_predict_options(database).value_or(fit::PredictOptions{});
}

// Returns the times of a sharded training (FSDP), and why it cannot be predicted, if no N can. Both are empty if the
// database has no such training. How its compute depends on the batch is not modelled.
Times sharded_times(const RateQuestion& question, fit::PredictOptions options, store::Database& database) {
  options.workers = question.options.workers;
  options.what_if = {};
  const fit::PredictResult result = fit::predict_sharded(database.sql(), options);
  const auto refused = std::ranges::find(result.notes, "prediction_none", &fit::Note::code);
  const std::string reason = refused == result.notes.end() ? "" : refused->message;
  if (result.predictions.empty()) return {{}, reason};
  Times times;
  for (const std::int64_t workers : std::set<std::int64_t>(options.workers.begin(), options.workers.end())) {
    report::TrainingTime& row = times.rows.emplace_back();
    row.strategy = "fsdp";
    row.workers = workers;
    row.confidence = options.confidence;
    const auto found = std::ranges::find(result.predictions, workers, &fit::Prediction::world_size);
    if (found == result.predictions.end()) {
      row.note = reason;
      continue;
    }
    // 0: the batch is not recorded, and the question has the batch of the measured steps.
    const auto measured = std::llround(found->throughput * found->step_s / static_cast<double>(workers));
    const std::int64_t asked = question.batch * question.accumulation;
    if (measured > 0 && measured != asked) {
      row.note = fmt::format(
          "{} samples per worker and step were measured, and the compute of fsdp at another batch is not predicted",
          measured);
      continue;
    }
    row.throughput = static_cast<double>(workers * asked) / found->step_s;
    row.step_s = found->step_s;
    row.step_low_s = found->step_low_s;
    row.step_high_s = found->step_high_s;
  }
  return times;
}

Times training_times(const RateQuestion& question, const scenario::Scenario* scenario, store::Database& database) {
  try {
    const fit::PredictOptions options = asked_predictions(scenario, database);
    Times times = sharded_times(question, options, database);
    try {
      const auto models = std::make_shared<const fit::Models>(fit::fit_models(database));
      const auto others =
          report::training_times(models, options, question.options, question.batch, question.accumulation);
      times.rows.insert(times.rows.begin(), others.begin(), others.end());
    } catch (const fit::NotSupported& error) {
      if (times.rows.empty())
        times.why_none =
            "Cannot predict the training time: " + (times.why_none.empty() ? error.what() : times.why_none);
    }
    if (!times.rows.empty()) times.why_none.clear();
    return times;
  } catch (const fit::NotSupported& error) {
    return {{}, std::string("Cannot predict the training time: ") + error.what()};
  }
}

report::Table target_cost_of(const RateQuestion& question, const scenario::Scenario* scenario,
                             store::Database& database, const Times& times) {
  report::Table table = report::target_cost_table(
      question.options, times.rows,
      {question.noise_scale_samples.value_or(stats::Interval{}), question.target_steps, question.price_per_gpu_hour,
       asked_predictions(scenario, database).gpus_per_node, question.samples_to_target, question.epoch_known});
  if (!times.why_none.empty()) table.empty = times.why_none;
  return table;
}

}  // namespace

void RateQuestion::apply(const GivenRate& given) {
  if ((given.batch || given.accumulation) && !given.base_workers && batch > 0)
    options.tuned_batch = options.base_batch();
  batch = given.batch.value_or(batch);
  accumulation = given.accumulation.value_or(accumulation);
  options.samples_per_worker = batch * accumulation;
  options.base_lr = given.base_lr.value_or(options.base_lr);
  base_known = base_known || given.base_lr;
  if (given.base_workers) {
    options.base_workers = *given.base_workers;
    options.tuned_batch.reset();
  }
  if (given.base_batch) options.tuned_batch = given.base_batch;
  options.samples = given.samples.value_or(options.samples);
  options.epochs = given.epochs.value_or(options.epochs);
  epoch_known = epoch_known || given.samples;
  if (given.adaptive) {
    adaptive = given.adaptive;
    optimizer = *adaptive ? "adaptive" : "sgd";
  }
  options.adaptive_optimizer = adaptive.value_or(false);
  if (recorded) {
    options.steps_known = given.samples && given.epochs;
    if (options.steps_known) options.warmup_epochs = assumed_warmup_epochs;
    options.rule = learning_rate::Rule::linear;
    options.rule = report::rule_of(choice());
  }
  options.warmup_epochs = given.warmup_epochs.value_or(options.warmup_epochs);
}

void RateQuestion::set_noise_scale(const stats::Interval& noise_scale) {
  noise_scale_samples = noise_scale;
  options.noise_scale_samples = noise_scale.mid;
}

void RateQuestion::set_measured_noise_scale(std::span<const metrics::MeasuredNoise> measured) {
  if (const auto band = metrics::concluding_band(measured, options.base_batch()))
    set_noise_scale(band->noise_scale_samples);
}

bool RateQuestion::has_schedules() const {
  return options.decay.kind != learning_rate::DecayKind::constant || noise_scale_samples;
}

RateQuestion stored_question(const scenario::Scenario& scenario, store::Database& database,
                             std::span<const metrics::MeasuredNoise> measured) {
  RateQuestion question;
  question.options = learning_rate_options(scenario, database);
  question.base_from = "of the scenario";
  question.batch_from = "of the scenario";
  question.batch = scenario.workload.batch_per_worker;
  question.accumulation = scenario.workload.accumulation;
  question.optimizer = scenario::to_string(scenario.workload.optimizer.kind);
  question.adaptive = question.options.adaptive_optimizer;
  question.set_measured_noise_scale(measured);
  if (question.has_schedules())
    question.rules.assign(learning_rate::every_rule.begin(), learning_rate::every_rule.end());
  return question;
}

RateQuestion recorded_question(store::Database& database) {
  try {
    const auto training = metrics::recorded_training(database.sql(), metrics::read_configurations(database.sql()));
    if (!training)
      throw fit::NotSupported(database.path().string() + " has no measurement of a training, so its batch is unknown",
                              "measure one with ddpprof run SCENARIO.yaml, or import a trace");
    RateQuestion question;
    question.no_rate = training->no_rate;
    question.batch = training->batch_per_worker;
    question.accumulation = training->accumulation;
    question.base_known = training->learning_rate > 0.0;
    question.base_from = fmt::format("as recorded at N = {}", training->workers);
    question.batch_from = fmt::format("assumed: that of N = {}, the smallest measured one", training->workers);
    question.optimizer = training->optimizer;
    question.adaptive = metrics::is_adaptive(training->optimizer);
    fit::LearningRateOptions& options = question.options;
    options.adam = metrics::usual_settings(metrics::family_of(training->optimizer));
    if (question.base_known) options.base_lr = training->learning_rate;
    if (training->betas) {
      options.adam.beta1 = training->betas->first;
      options.adam.beta2 = training->betas->second;
    }
    options.base_workers = training->workers;
    options.samples_per_worker = question.batch * question.accumulation;
    options.samples = options.epochs = 1;  // not used while steps_known and epoch_known are false
    question.epoch_known = false;
    options.warmup_epochs = 0.0;
    options.steps_known = false;
    options.workers = answered_workers(database.sql());
    question.recorded = true;
    question.apply({});
    return question;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

std::optional<KeptBatch> kept_batch(store::Database& database) {
  for (const auto& [strategy, rows] : fit::by_strategy(fit::stored_steps(database)))
    if (const std::int64_t batch = fit::usual_question(rows).global_batch; batch > 0) return KeptBatch{strategy, batch};
  return std::nullopt;
}

std::string kept_rate(const KeptBatch& kept) {
  return "The global batch of " + kept.strategy + " is the same at every N, so its learning rate is, too.";
}

std::string answer_for_kept_batch(RateQuestion& question, const KeptBatch& kept) {
  std::int64_t workers = 1;
  for (const std::int64_t asked : question.options.workers)
    if (kept.global_batch % asked == 0) workers = std::max(workers, asked);
  question.options.workers = {workers};
  question.batch = kept.global_batch / workers;
  question.accumulation = 1;
  return fmt::format("{} The rates and steps of N = {} apply to every N with a global batch of {} samples.",
                     kept_rate(kept), workers, kept.global_batch);
}

report::Table target_cost(const RateQuestion& question, const scenario::Scenario* scenario, store::Database& database) {
  return target_cost_of(question, scenario, database, training_times(question, scenario, database));
}

std::vector<report::Table> plan_tables(const RateQuestion& question, const scenario::Scenario* scenario,
                                       store::Database& database) {
  const fit::LearningRateOptions& options = question.options;
  if (!options.steps_known) {
    std::vector<report::Table> tables{report::rules_table(options)};
    if (question.noise_scale_samples)
      tables.push_back(report::large_batches_table(options, *question.noise_scale_samples));
    if (question.steps_to_target_known()) tables.push_back(target_cost(question, scenario, database));
    return tables;
  }
  const Times times = training_times(question, scenario, database);
  std::vector<report::Table> tables{report::rules_table(options), report::training_time_table(options, times.rows)};
  if (!times.why_none.empty()) tables.back().empty = times.why_none;
  if (scenario != nullptr)  // traces of other programs have no losses
    tables.push_back(
        report::time_to_target_table(options, metrics::loss_curves(database), times.rows, question.target_loss));
  if (!question.rules.empty()) tables.push_back(report::schedules_table(options, question.rules));
  if (question.noise_scale_samples)
    tables.push_back(report::large_batches_table(options, *question.noise_scale_samples));
  if (question.noise_scale_samples || !question.samples_to_target.empty())
    tables.push_back(target_cost_of(question, scenario, database, times));
  if (scenario == nullptr) return tables;
  try {
    if (const auto trained = trained_rates(database, *scenario, options.samples); !trained.empty())
      tables.push_back(report::trained_rates_table(trained, rate_plan_text(*scenario)));
  } catch (const std::invalid_argument& error) {  // for example a number of workers that is impossible
    tables.push_back(report::trained_rates_table({}, ""));
    tables.back().empty = error.what();
  }
  return tables;
}

}  // namespace ddpprof::scenario_queries
