// Every learning-rate rule's schedule at each N, decay included, and what a noise scale says of larger batches.
#pragma once

#include <span>
#include <string>

#include "analysis/predict/predict.hpp"
#include "analysis/report/core/table.hpp"
#include "simulator/learning_rate/rules.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::report {

// A row for each N and rule: its rate at the start, at the end of the warm-up, at quarters of the training and at its
// last step. A rule without an answer has a row that says why. Throws std::invalid_argument on options or a decay that
// cannot be.
Table schedules_table(const fit::LearningRateOptions&, std::span<const learning_rate::Rule>);

// The most workers whose global batch keeps the efficiency, by the critical batches that the noise scale allows: "23
// (17 to 33)", "any" where it never falls that far.
std::string workers_at_text(const fit::LearningRateOptions&, const stats::Interval& noise_scale_samples,
                            double efficiency);

// A row for each N: the gain and the efficiency of its batch, the steps to a target beside the base batch's, all for
// the critical batches that the noise scale allows, and whether the linear rule is expected to hold. Throws
// std::invalid_argument as large_batch.hpp.
Table large_batches_table(const fit::LearningRateOptions&, const stats::Interval& noise_scale_samples);

}  // namespace ddpprof::report
