// Cost of the same result at each N: steps from trainings at other batches or from the gradient noise scale, time from
// the predicted step, GPU-hours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"
#include "simulator/learning_rate/samples_to_target.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::report {

struct TargetQuestion {
  stats::Interval noise_scale_samples;  // without measured samples: of the training at the base batch; determines the
                                        // critical batch
  std::optional<std::int64_t>
      base_steps;                   // steps to the target at the base batch; empty: the steps of the options' epochs
  double price_per_gpu_hour = 0.0;  // in any currency; 0: unknown
  std::int64_t gpus_per_node = 0;   // whole nodes are paid; 0: one GPU per worker
  std::vector<learning_rate::BatchSamples> measured = {};  // samples to the target at other batches
  bool epoch_known = true;  // false: the samples of an epoch are unknown, and so the epochs
};

// Returns the optimizer steps of the options' epochs at the base batch.
std::int64_t base_training_steps(const fit::LearningRateOptions&);

// One row for each of `times` with a predicted step (simulator/learning_rate/time_to_target.hpp). The note lists the
// best N of each strategy by time and by cost, at the middle and at the ends of the number of steps. Throws
// std::invalid_argument like times_to_target.
Table target_cost_table(const fit::LearningRateOptions&, std::span<const TrainingTime> times, const TargetQuestion&);

}  // namespace ddpprof::report
