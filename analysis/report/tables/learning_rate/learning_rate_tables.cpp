#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <string_view>

#include "analysis/predict/learning_rate.hpp"
#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/learning_rate/stored_rates.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "simulator/learning_rate/learned_target.hpp"
#include "simulator/learning_rate/rules.hpp"
#include "simulator/learning_rate/square_root_rule.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

// Returns a note if an epoch is smaller than one step of all workers: its only step is then shorter than predicted.
// This cannot happen if batches continue across epochs.
std::string short_epoch(const fit::LearningRateOptions& options, std::int64_t workers) {
  if (options.applied) return "";
  const std::int64_t batch = learning_rate::global_batch(workers, options.samples_per_worker);
  if (options.samples >= batch) return "";
  return fmt::format(
      "an epoch of {} samples is smaller than one global batch of {}; its only step is counted as a full step",
      options.samples, batch);
}

void erase_columns(Table& table, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    erase_column(
        table, static_cast<std::size_t>(std::ranges::find(table.columns, name, &Column::name) - table.columns.begin()));
}

bool by_adascale(const fit::LearningRateOptions& options) {
  return options.rule == learning_rate::Rule::adascale && options.noise_scale_samples;
}

}  // namespace

std::vector<Table> rate_tables(const fit::LearningRateOptions& options) {
  const std::vector<store::LearningRateRow> rows = fit::learning_rates(options);
  std::vector<Table> tables{learning_rate_table(rows), warmup_table(rows)};
  // Only AdaScale requires more than N.
  const bool whatever_n = options.rule == learning_rate::Rule::adascale;
  for (const std::int64_t workers : std::set<std::int64_t>(options.workers.begin(), options.workers.end())) {
    const learning_rate::Plan plan = fit::plan_of(options, workers);
    const auto why = learning_rate::refusal(options.rule, plan);
    if (!why) continue;
    tables[1].empty = *why;
    if (whatever_n)
      tables[0].empty = *why;
    else
      tables[0].rows.push_back({workers, learning_rate::to_string(options.rule),
                                learning_rate::unscaled(plan).global_batch, plan.base_lr, Cell(), Cell(), *why});
  }
  std::ranges::sort(tables[0].rows, {}, [](const Row& row) { return std::get<std::int64_t>(row[0]); });
  if (!options.steps_known) {
    erase_columns(tables[0], {"warmup_steps"});
    tables.pop_back();
  }
  return tables;
}

Table rules_table(const fit::LearningRateOptions& options) {
  Table table;
  table.name = "learning_rate_rules";
  table.title = "Learning rate by rule";
  table.note =
      "κ = global batch / base batch. Linear: κ · base (Goyal et al. 2017). Square root: √κ · base (Krizhevsky 2014 "
      "for SGD; Malladi et al. 2022 for Adam, with 1 − β → κ (1 − β) and ε → ε / √κ; not defined from κ (1 − β₁) = 1 "
      "on). Unscaled: the base rate at every N. Tuned: base · κ^p, with the exponents p of rates that were tuned in "
      "MLPerf "
      "trainings; p differs between benchmarks, so use the range to search. Warm-up and training: steps of the linear "
      "rule.";
  table.empty = "No worker counts given. Give at least one, for example 8,16,64.";
  table.columns = {
      count("workers", "N", "workers"), count("global_batch_samples", "global batch", "samples"),
      quantity("kappa", "κ", ""), digits(quantity("linear_lr", "linear", ""), 4),
      digits(quantity("square_root_lr", "square root", ""), 4), digits(quantity("unscaled_lr", "unscaled", ""), 4),
      count("warmup_steps", "warm-up", "steps"),
      // If batches continue across epochs, the number of steps per epoch need not be an integer.
      options.applied ? quantity("steps_per_epoch", "epoch", "steps") : count("steps_per_epoch", "epoch", "steps"),
      count("total_steps", "training", "steps"), digits(quantity("beta1", "β₁", ""), 4),
      digits(quantity("beta2", "β₂", ""), 4), digits(quantity("epsilon", "ε", ""), 3),
      digits(quantity("tuned_lr", "tuned", ""), 4), digits(quantity("tuned_lr_low", "low", ""), 4),
      digits(quantity("tuned_lr_high", "high", ""), 4)};
  table.key_columns = 1;
  for (const std::int64_t workers : std::set<std::int64_t>(options.workers.begin(), options.workers.end())) {
    const learning_rate::Plan plan = fit::plan_of(options, workers);
    const learning_rate::Schedule linear = learning_rate::linear_rule(plan);
    Cell beta1, beta2, epsilon;
    const bool refused = learning_rate::refusal(learning_rate::Rule::square_root, plan).has_value();
    if (options.adaptive_optimizer) {
      const learning_rate::ScaledAdam adam = learning_rate::scale_adam(options.adam, linear.kappa);
      if (adam.valid) {
        if (adam.settings.beta1 > 0.0) beta1 = adam.settings.beta1;
        if (adam.settings.beta2 > 0.0) beta2 = adam.settings.beta2;
        epsilon = adam.settings.epsilon;
      }
    }
    const stats::Interval tuned = learning_rate::tuned_rate(
        options.adaptive_optimizer ? learning_rate::learned_adaptive : learning_rate::learned_sgd, plan.base_lr,
        linear.kappa);
    table.rows.push_back({workers, linear.global_batch, linear.kappa, linear.target_lr,
                          refused ? Cell() : Cell(learning_rate::square_root_rule(plan).target_lr), plan.base_lr,
                          linear.warmup_steps,
                          options.applied ? Cell(linear.epoch_steps) : Cell(linear.steps_per_epoch), linear.total_steps,
                          beta1, beta2, epsilon, tuned.mid, tuned.low, tuned.high});
  }
  if (!options.steps_known) erase_columns(table, {"warmup_steps", "steps_per_epoch", "total_steps"});
  return table;
}

double TrainingTime::time_s(const fit::LearningRateOptions& options) const {
  // With AdaScale the number of steps is the number at the base batch divided by the gain.
  const learning_rate::Plan plan = fit::plan_of(options, workers);
  const auto schedule =
      by_adascale(options) ? learning_rate::schedule_of(options.rule, plan) : learning_rate::unscaled(plan);
  return static_cast<double>(schedule.total_steps) * step_s;
}

Table training_time_table(const fit::LearningRateOptions& options, std::span<const TrainingTime> rows) {
  Table table;
  table.name = "training_time";
  table.title = "Time of the training";
  table.note = fmt::format(
      "Time of {} epochs of {} samples = number of steps × predicted median step. The interval is that of the "
      "predicted step. Steps that are slower than the median add to the time. {} {} This is not the time to a target "
      "loss: at a larger batch, the number of steps to a target loss depends on the gradient noise scale. {} If losses "
      "were recorded, the table of the time to a target loss gives bounds.",
      options.epochs, options.samples,
      options.applied ? "Batches continue across epochs, as in the worker."
                      : "The last batch of an epoch counts as a full batch.",
      by_adascale(options)
          ? "The number of steps is that of AdaScale's schedule, with one constant gain from the gradient noise scale."
          : "Every N trains the same number of epochs, as in the table of learning rates by rule.",
      options.noise_scale_samples ? "The table “Time and cost of the same result” uses it."
                                  : "Its value is unknown here.");
  table.empty = "Cannot give a training time: predictions are missing. Measure steps with: ddpprof run SCENARIO.yaml";
  table.columns = {text("strategy", "strategy"),
                   count("workers", "N", "workers"),
                   quantity("throughput_samples_per_s", "throughput", "samples/s"),
                   digits(seconds("step_s", "median step"), 4),
                   digits(seconds("time_s", "training"), 4),
                   digits(seconds("time_low_s", "low", "time_s"), 4),
                   digits(seconds("time_high_s", "high", "time_s"), 4),
                   text("duration", "that is"),
                   share("confidence", "confidence"),
                   prose("note", "note")};
  table.columns[2].digits = 4;
  table.columns[8].hide_constant = true;
  table.key_columns = 2;
  for (const TrainingTime& row : rows) {
    if (!(row.throughput > 0.0) || !(row.step_s > 0.0)) {
      table.rows.push_back(
          {row.strategy, row.workers, Cell(), Cell(), Cell(), Cell(), Cell(), Cell(), Cell(), row.note});
      continue;
    }
    const double time_s = row.time_s(options);
    std::string note = row.note;
    if (const std::string more = short_epoch(options, row.workers); !more.empty())
      note += (note.empty() ? "" : "; ") + more;
    table.rows.push_back({row.strategy, row.workers, row.throughput, row.step_s, time_s,
                          time_s * row.step_low_s / row.step_s, time_s * row.step_high_s / row.step_s,
                          units::duration_text(time_s), row.confidence, note});
  }
  return table;
}

}  // namespace ddpprof::report
