// What is asked of a file's learning rates, and the tables that answer it: the same for every front end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/report/gradient_noise.hpp"
#include "analysis/report/report.hpp"
#include "runner/scenario/scenario.hpp"
#include "simulator/stats/interval.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::questions {

struct RateQuestion {
  fit::LearningRateOptions options;
  std::int64_t batch = 1, accumulation = 1;            // of one worker: a micro-batch, and how many make a step
  std::optional<stats::Interval> noise_scale_samples;  // nothing: not known; the options hold its middle
  std::vector<learning_rate::Rule> rules;              // whose schedules are shown
  std::optional<double> target_loss;                   // nothing: the lowest that every configuration reached
  std::optional<std::int64_t> target_steps;            // at the base batch; nothing: those of the options' epochs
  double price_per_gpu_hour = 0.0;                     // 0: not known

  void know(const stats::Interval& noise_scale);
  // … that of the training nearest to the options' base batch, if any of them says one.
  void conclude(std::span<const report::MeasuredNoise>);
  // Whether every rule's schedule is shown unasked: where there is a decay or a noise scale to show it with.
  bool has_schedules() const;
};

// As the scenario has it, with the noise scale that was measured, and every rule's schedule where it has_schedules.
// Throws fit::NotSupported as learning_rate_options.
RateQuestion stored_question(const scenario::Scenario&, store::Database&, std::span<const report::MeasuredNoise>);

// What `ddpprof lr` says beside the rates (report::rate_tables): learning_rate_rules, training_time, time_to_target,
// learning_rate_schedules (with rules), large_batches and target_cost (with a noise scale), trained_rates (where rates
// were recorded). Throws store::DatabaseError, and std::invalid_argument on a question that cannot be.
std::vector<report::Table> plan_tables(const RateQuestion&, const scenario::Scenario&, store::Database&);

}  // namespace ddpprof::questions
