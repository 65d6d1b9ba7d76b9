// Databases with what measurements, fits and predictions would write, from random numbers: for the report `answer`.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "analysis/report/report.hpp"
#include "analysis/report/tables/learning_rate/rate_choice.hpp"
#include "analysis/report/tables/models/outlook_tables.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"
#include "tests/analysis/report/synthetic_run.hpp"

namespace ddpprof::report::test_answers {

// Numbers with the same sequence in every standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11U) / 9007199254740992.0;
  }
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(count));
  }
  bool chance(double p) { return between(0.0, 1.0) < p; }

 private:
  std::mt19937_64 engine_;
};

inline constexpr const char* terms[] = {"compute", "sharing", "host",  "bandwidth",
                                        "latency", "skew",    "input", "copies"};

struct Made {
  std::vector<store::PredictionRow> predictions, dedicated;
  std::vector<fit::RankedChange> changes;
  RateChoice choice;
  bool batch_known = true;
};

inline store::PredictionRow prediction(Dice& dice, const std::string& strategy, std::int64_t workers, double step_s,
                                       std::int64_t largest_measured, std::int64_t batch) {
  store::PredictionRow row;
  row.strategy = strategy;
  row.world_size = workers;
  row.step_s = step_s;
  row.step_low_s = step_s / dice.between(1.0, dice.chance(0.4) ? 6.0 : 1.4);
  row.step_high_s = step_s * dice.between(1.0, dice.chance(0.4) ? 6.0 : 1.4);
  row.confidence = 0.9;
  double left = 1.0;
  for (double* part : {&row.compute_s, &row.exposed_s, &row.skew_s, &row.host_s}) {
    const double share = left * dice.between(0.0, 0.9);
    *part = share * step_s;
    left -= share;
  }
  row.other_s = left * step_s;
  row.communication_s = row.exposed_s * 1.2;
  row.throughput = batch > 0 ? static_cast<double>(batch * workers) / step_s : 0.0;
  row.efficiency = dice.between(0.001, 1.1);
  row.bound = terms[dice.below(8)];
  row.extrapolation = static_cast<double>(workers) / static_cast<double>(largest_measured);
  if (dice.chance(0.1))
    row.note = "links between nodes were not measured: the interval spans 25 Gbit/s Ethernet to more; far";
  return row;
}

// Fills the database with what measurements, fits and predictions would write.
inline Made fill(test::SyntheticRun& run, Dice& dice) {
  Made made;
  store::BulkLoad load(run.database);
  const bool import = dice.chance(0.5), cuda = dice.chance(0.3);
  const std::int64_t batch = dice.chance(0.15) ? 0 : 8 << dice.below(4), accumulation = dice.chance(0.2) ? 4 : 1;
  made.batch_known = batch > 0;
  std::int64_t smallest = 64, most_predicted = 0;
  for (const std::string strategy : {"ddp", "dp"}) {
    if (strategy == "dp" && dice.chance(0.6)) continue;
    std::vector<std::int64_t> measured;
    for (const std::int64_t workers : {1, 2, 4, 8})
      if (dice.chance(0.5)) measured.push_back(workers);
    if (measured.empty()) measured.push_back(std::int64_t{1} << dice.below(3));
    smallest = std::min(smallest, measured.front());
    const double base_s = std::exp(dice.between(std::log(2e-4), std::log(3.0))), slope = dice.between(-0.1, 1.2);
    for (const std::int64_t workers : measured) {
      store::MeasurementRow row = test::train(strategy, workers, batch);
      row.kind = import ? "import" : "train";
      if (import) row.scenario_id.reset();
      row.accumulation = accumulation;
      row.device = cuda ? "cuda" : "cpu";
      row.oversubscription = static_cast<double>(workers) / 2.0;
      const std::int64_t shard = run.shard(run.measurement(row), 0);
      std::vector<double> steps_s;
      const std::int64_t steps = 1 + dice.below(12);
      const double middle_s = base_s * std::pow(static_cast<double>(workers), slope);
      for (std::int64_t i = 0; i < steps; ++i) {
        const auto took_ns = static_cast<std::int64_t>(1e9 * middle_s * dice.between(0.9, 1.5));
        const auto communication_ns =
            workers == 1 ? 0 : static_cast<std::int64_t>(dice.between(0.0, 0.9) * static_cast<double>(took_ns));
        run.step(shard, i, i * 10 * took_ns, took_ns, took_ns - communication_ns, communication_ns, 0,
                 communication_ns / 3, batch * accumulation * workers);
        steps_s.push_back(units::ns_to_s(took_ns));
      }
      if (dice.chance(0.8))
        made.predictions.push_back(
            prediction(dice, strategy, workers, stats::median(steps_s), measured.back(), batch * accumulation));
    }
    if (dice.chance(0.85))
      for (std::int64_t workers = 2 * measured.back(); workers <= 64; workers *= 2) {
        const double step_s = base_s * std::pow(static_cast<double>(workers), slope) * dice.between(0.8, 1.3);
        made.predictions.push_back(prediction(dice, strategy, workers, step_s, measured.back(), batch * accumulation));
        if (!cuda && strategy == "ddp")
          made.dedicated.push_back(prediction(dice, strategy, workers, step_s * dice.between(0.05, 1.0),
                                              measured.back(), batch * accumulation));
        most_predicted = std::max(most_predicted, workers);
      }
    if (most_predicted == 0) continue;
    for (const auto& [change, setting] : {std::pair{"accumulation=4", true},
                                          {"batch_per_worker=64", true},
                                          {"bucket_cap_mb=100", true},
                                          {"compression=bf16", true},
                                          {"bandwidth=2x", false},
                                          {"sharing=dedicated", false}}) {
      if (dice.chance(0.3)) continue;
      fit::WhatIfRow effect;
      effect.strategy = strategy;
      effect.workers = most_predicted;
      effect.step_s = base_s;
      effect.speedup = std::exp(dice.between(-0.1, 2.0));
      effect.changed_step_s = base_s / effect.speedup;
      effect.speedup_low = (dice.chance(0.3) ? 0.3 : 0.9) * effect.speedup;
      effect.speedup_high = 1.2 * effect.speedup;
      made.changes.push_back({change, setting, effect});
    }
  }
  std::ranges::stable_sort(made.changes, std::ranges::greater{}, [](const auto& one) { return one.effect.speedup; });
  store::Inserter<store::PredictionRow> predictions(run.database);
  for (const store::PredictionRow& row : made.predictions) predictions.insert(row);
  const auto diagnostic = [&](const char* severity, const std::string& code, const std::string& message,
                              const char* advice) {
    store::DiagnosticRow row;
    row.severity = severity;
    row.code = code;
    row.count = 1;
    row.message = message;
    row.advice = advice;
    store::Inserter<store::DiagnosticRow>(run.database).insert(row);
  };
  if (dice.chance(0.6))
    diagnostic(
        "info", "measure_next",
        "ddp at N = 64: a measurement of ddp at N = 4 would narrow the 90 % interval most, to about 56 % of its width",
        "add 4 to the measured worker counts");
  for (const char* code : {"fit_doubtful", "links_not_measured", "rank_missing", "cores_unknown", "device_idle"})
    if (dice.chance(0.4))
      diagnostic(
          dice.chance(0.2) ? "error" : "warning", code,
          std::string("something about ") + code +
              " that needs many words, because it has to be wrapped; it has a second clause, "
              "which is as long as the first one and says nothing new; and a third clause, to be left out of a screen",
          "do something about it, which takes long to say as well");
  // Interval of the largest N, twice: equal warnings.
  diagnostic("warning", "prediction_uncertain", "ddp at N = 32: the interval spans more than a factor of ten",
             "measure more");
  made.choice.options.workers = {smallest, most_predicted > 0 ? most_predicted : 64};
  made.choice.options.base_workers = smallest;
  made.choice.options.samples_per_worker = std::max<std::int64_t>(1, batch * accumulation);
  made.choice.options.base_lr = dice.between(1e-4, 1.0);
  made.choice.base_known = dice.chance(0.5);
  if (dice.chance(0.8)) made.choice.adaptive = dice.chance(0.5);
  made.choice.options.adaptive_optimizer = made.choice.adaptive.value_or(false);
  if (made.choice.adaptive) made.choice.optimizer = *made.choice.adaptive ? "AdamW" : "SGD";
  if (dice.chance(0.8)) {
    const double noise_scale = std::exp(dice.between(std::log(10.0), std::log(2e3)));
    made.choice.noise_scale_samples = stats::Interval{0.5 * noise_scale, noise_scale, 2.0 * noise_scale, 0.9};
  }
  load.commit();
  run.database.finish_load();
  return made;
}

inline ScenarioTables tables_of(const Made& made) {
  ScenarioTables tables;
  tables.outlook = [made] {
    std::vector<Table> all{what_helps_table(made.changes, 0.9), dedicated_predictions_table(made.dedicated)};
    if (made.batch_known) all.push_back(rate_choice_table(made.choice));
    return all;
  };
  return tables;
}

}  // namespace ddpprof::report::test_answers
