// A question about learning rates, and the tables that answer it. The command line and the window both use it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/metrics/gradient_noise.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/report/report.hpp"
#include "analysis/report/tables/learning_rate/rate_choice.hpp"
#include "runner/scenario/scenario.hpp"
#include "simulator/learning_rate/samples_to_target.hpp"
#include "simulator/stats/interval.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::scenario_queries {

inline constexpr double assumed_warmup_epochs = 5.0;  // of a training without a scenario; Goyal et al. 2017

// What the user states beside a file. Empty: as in the file.
struct GivenRate {
  std::optional<double> base_lr, warmup_epochs;
  std::optional<std::int64_t> base_workers, base_batch, batch, accumulation, samples, epochs;
  std::optional<bool> adaptive;  // the kind of optimizer
};

struct RateQuestion {
  fit::LearningRateOptions options;
  std::int64_t batch = 1, accumulation = 1;            // per worker: micro-batch, micro-batches per step
  std::optional<stats::Interval> noise_scale_samples;  // nullopt: unknown; the options have its central value
  std::vector<learning_rate::Rule> rules;              // rules with a table of their schedule
  std::optional<double> target_loss;                   // nullopt: the lowest loss that every configuration reached
  std::optional<std::int64_t> target_steps;            // at the base batch; nullopt: the steps of the options' epochs
  // Trainings that reached the target: samples by global batch. If there are any, target_steps is not used.
  std::vector<learning_rate::BatchSamples> samples_to_target;
  double price_per_gpu_hour = 0.0;  // 0: unknown
  bool epoch_known = true;          // false: the options' samples of an epoch are a placeholder
  bool base_known = true;           // false: the options' base rate is a placeholder
  std::string base_from;            // the origin of the base rate, in words
  std::string batch_from;           // the origin of the batch at which it was tuned
  std::string optimizer;            // its name; empty: unknown
  std::optional<bool> adaptive;     // empty: unknown
  std::string no_rate;              // why the training has no learning rate at another N; empty: it has one
  bool recorded = false;            // of recorded_question(): the rule is that for the optimizer

  report::RateChoice choice() const { return {options, base_known, optimizer, adaptive, noise_scale_samples}; }
  // Replaces the file's values by the given ones. Another batch does not change the batch at which the rate was tuned.
  // The steps of a recording are known if its samples and epochs are given; its warm-up is then assumed, if it is not
  // given. Throws std::invalid_argument if the base batch is too large.
  void apply(const GivenRate&);
  void set_noise_scale(const stats::Interval& noise_scale);
  // Sets it from the training whose batch is nearest to the options' base batch, if one measured it.
  void set_measured_noise_scale(std::span<const metrics::MeasuredNoise>);
  // Returns true if the steps to the target follow without the epochs of the training: from trainings that reached it,
  // or from the given steps and the noise scale.
  bool steps_to_target_known() const {
    return !samples_to_target.empty() || (target_steps && noise_scale_samples);
  }
  // Returns true if there is a decay or a noise scale. Then every rule's schedule is shown by default.
  bool has_schedules() const;
};

// Returns the scenario's question, with the measured noise scale, and with every rule's schedule if has_schedules().
// Throws fit::NotSupported like learning_rate_options.
RateQuestion stored_question(const scenario::Scenario&, store::Database&, std::span<const metrics::MeasuredNoise>);

// Returns the question of a file without a scenario: the recorded batch and optimizer, and as base rate the recorded
// rate of the smallest measured N, if there is one. The options have the rule for the optimizer, and the N of the
// stored predictions if there are several, otherwise the powers of two from the smallest measured N to 64. The samples
// of an epoch and the epochs are unknown. `batch` is 0 if it is not recorded. Throws fit::NotSupported if the file has
// no measurement of a training.
RateQuestion recorded_question(store::Database&);

struct KeptBatch {
  std::string strategy;
  std::int64_t global_batch = 1;  // in samples, the same at every N
};

// Returns the global batch that the file's table of step times keeps at every N. Empty if it has no such table.
std::optional<KeptBatch> kept_batch(store::Database&);

// Returns the sentence that the rate does not depend on N.
std::string kept_rate(const KeptBatch&);

// Sets the question's workers and batch to one N with this global batch, for which the rates and steps are those of
// every N: the largest of its workers that divides the batch, otherwise 1. Returns a note that says so.
std::string answer_for_kept_batch(RateQuestion&, const KeptBatch&);

// Returns the tables of `ddpprof lr` after the rates (report::rate_tables): learning_rate_rules, training_time,
// time_to_target, learning_rate_schedules (with rules), large_batches (with a noise scale), target_cost (with a
// noise scale or samples to the target), trained_rates (if rates were recorded). If the steps of the training are
// unknown, only learning_rate_rules, large_batches, and target_cost if steps_to_target_known(). `scenario`: nullptr for
// a file without one. Throws store::DatabaseError, and std::invalid_argument if the question is invalid.
std::vector<report::Table> plan_tables(const RateQuestion&, const scenario::Scenario*, store::Database&);

// Returns the table target_cost alone, from the question's samples to the target. Throws like plan_tables.
report::Table target_cost(const RateQuestion&, const scenario::Scenario*, store::Database&);

}  // namespace ddpprof::scenario_queries
