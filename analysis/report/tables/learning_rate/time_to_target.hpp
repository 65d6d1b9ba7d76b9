// Time to a target loss, as a table.
#pragma once

#include <optional>
#include <span>

#include "analysis/metrics/loss_curves.hpp"
#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"

namespace ddpprof::report {

// A row each measured configuration with losses, then one each of `asked` (the options' batch, predicted steps) whose
// N was not measured with that batch: bounds from the measured configuration of its strategy nearest in global batch,
// of those that took more than the first mean to reach the target. `target`: nothing for default_target.
Table time_to_target_table(const fit::LearningRateOptions&, const metrics::LossCurves&,
                           std::span<const TrainingTime> asked, std::optional<double> target);

}  // namespace ddpprof::report
