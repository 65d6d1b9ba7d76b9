// Time to a target loss, as a table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/metrics/loss_curves.hpp"
#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"

namespace ddpprof::report {

// The time to a target loss for one strategy at one N.
struct TargetTime {
  enum class Basis {
    measured,
    bounds,   // from the measured configuration at `from_workers`
    unknown,  // `note` says what is missing
  };
  std::string strategy;
  std::int64_t workers = 1, global_batch = 0;
  Basis basis = Basis::unknown;
  std::int64_t from_workers = 0;
  std::optional<metrics::StepRange> steps;     // empty if the target was not reached or the time is unknown
  double epoch_steps = 0.0;                    // steps of one epoch
  double step_low_s = 0.0, step_high_s = 0.0;  // time of one step; 0 if unknown
  std::string note;                            // why values are missing, or ""
};
std::string basis_text(const TargetTime&);  // "measured", "bounds from N = 2", "not known"

// Returns first the measured configurations with losses, then `asked` without those that were measured with the
// options' batch.
std::vector<TargetTime> target_times(const fit::LearningRateOptions&, const metrics::LossCurves&,
                                     std::span<const TrainingTime> asked, double target);

// One row per measured configuration with losses, then one row for each of `asked` (the options' batch, predicted
// steps) whose N was not measured with that batch. Its bounds are from the measured configuration of the same strategy
// with the nearest global batch, among those that reached the target after the first mean. `target` empty:
// default_target.
Table time_to_target_table(const fit::LearningRateOptions&, const metrics::LossCurves&,
                           std::span<const TrainingTime> asked, std::optional<double> target);

}  // namespace ddpprof::report
