// Learning rates of several rules side by side, and how long a training takes at each N.
#pragma once

#include <span>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

// Tables learning_rate and warmup: of the options' rule at each N. Where it refuses there is no rate, and the note (or,
// where it refuses whatever N is, what an empty table says) has the reason. Throws std::invalid_argument on options
// that cannot be.
std::vector<Table> rate_tables(const fit::LearningRateOptions&);

// For each of the options' N: the linear rule's target, the square root's and the rate left alone; the schedule's
// steps; for an adaptive optimizer what the square-root rule makes of PyTorch's other defaults (betas 0.9 and 0.999,
// epsilon 1e-8). Throws std::invalid_argument on options that cannot be.
Table rules_table(const fit::LearningRateOptions&);

// What one strategy's training takes at one N: the steps of `epochs` epochs, as rules_table has them, times the
// predicted step.
struct TrainingTime {
  std::string strategy;
  std::int64_t workers = 1;
  double throughput = 0.0, step_s = 0.0, step_low_s = 0.0, step_high_s = 0.0, confidence = 0.0;
  std::string note;  // why there is none, where the throughput is 0

  double time_s(const fit::LearningRateOptions&) const;
};
Table training_time_table(const fit::LearningRateOptions&, std::span<const TrainingTime>);

}  // namespace ddpprof::report
