// Learning rates of several rules, and the duration of a training at each N.
#pragma once

#include <span>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/report/core/table.hpp"

namespace ddpprof::report {

// Returns the tables learning_rate and, if the training's steps are known, warmup for the rule of the options at each
// N. If the rule has no rate for an N, the note has the reason; if it has none for any N, Table::empty has it. Throws
// std::invalid_argument if the options are invalid.
std::vector<Table> rate_tables(const fit::LearningRateOptions&);

// For each N of the options: the targets of the linear rule and of the square-root rule, the unscaled rate, and the
// steps of the schedule. For adaptive optimizers also the betas and the epsilon that the square-root rule derives from
// those of the options (by default PyTorch's betas 0.9 and 0.999, epsilon 1e-8). Throws std::invalid_argument if the options are invalid.
Table rules_table(const fit::LearningRateOptions&);

// Duration of a training for one strategy and N: steps of `epochs` epochs (as in rules_table) × predicted step.
struct TrainingTime {
  std::string strategy;
  std::int64_t workers = 1;
  double throughput = 0.0, step_s = 0.0, step_low_s = 0.0, step_high_s = 0.0, confidence = 0.0;
  std::string note;  // why the prediction is missing, if the throughput is 0

  double time_s(const fit::LearningRateOptions&) const;
};
Table training_time_table(const fit::LearningRateOptions&, std::span<const TrainingTime>);

}  // namespace ddpprof::report
