// Schedules of all learning-rate rules at each N, including decay, and the benefit of larger batches by the noise
// scale.
#pragma once

#include <span>
#include <string>

#include "analysis/predict/predict.hpp"
#include "analysis/report/core/table.hpp"
#include "simulator/learning_rate/rules.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::report {

// One row per N and rule: the rate at the start, at the end of the warm-up, at the quarters of the training and at its
// last step. A rule without a rate has a row with the reason. Throws std::invalid_argument if the options or the decay
// are invalid.
Table schedules_table(const fit::LearningRateOptions&, std::span<const learning_rate::Rule>);

// Returns the maximum number of workers whose global batch has at least this efficiency, for the critical batches that
// follow from the noise scale: "23 (17 to 33)"; "any" if the efficiency never falls below it.
std::string workers_at_text(const fit::LearningRateOptions&, const stats::Interval& noise_scale_samples,
                            double efficiency);

// One row per N: gain and efficiency of its batch, steps to a target relative to the base batch (all for the critical
// batches that follow from the noise scale), and whether the linear rule is expected to be valid. Throws
// std::invalid_argument like large_batch.hpp.
Table large_batches_table(const fit::LearningRateOptions&, const stats::Interval& noise_scale_samples);

}  // namespace ddpprof::report
