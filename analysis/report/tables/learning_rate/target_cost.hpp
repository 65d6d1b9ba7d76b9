// What the same result costs at each N: steps by the gradient's noise scale, seconds by the predicted step, GPU-hours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::report {

struct TargetQuestion {
  stats::Interval noise_scale_samples;  // of the base batch's training; its critical batches are what is reckoned with
  std::optional<std::int64_t> base_steps;  // to the target at the base batch; nothing: those of the options' epochs
  double price_per_gpu_hour = 0.0;         // in any currency; 0: not known
  std::int64_t gpus_per_node = 0;          // whole nodes are paid for; 0: each worker its own GPU
};

// Optimizer steps of the options' epochs at their base batch.
std::int64_t base_training_steps(const fit::LearningRateOptions&);

// A row for each of `times` with a predicted step (simulator/learning_rate/time_to_target.hpp); the note names the best
// N of each strategy for time and for money, at the middle of the noise scale and at its ends. Throws
// std::invalid_argument as times_to_target.
Table target_cost_table(const fit::LearningRateOptions&, std::span<const TrainingTime> times, const TargetQuestion&);

}  // namespace ddpprof::report
