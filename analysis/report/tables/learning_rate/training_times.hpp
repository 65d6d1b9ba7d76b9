// Predicted duration of a training at each N: steps of learning_rate_tables.hpp × predicted step.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"

namespace ddpprof::report {

// For each of the options' N and every strategy that was measured: the prediction's throughput where the micro-batch
// `batch` and `accumulation` are as measured, under a change of them else. Stops early when `stop` says so.
std::vector<TrainingTime> training_times(const std::shared_ptr<const fit::Models>&, const fit::PredictOptions&,
                                         const fit::LearningRateOptions&, std::int64_t batch, std::int64_t accumulation,
                                         const std::function<bool()>& stop = {});

}  // namespace ddpprof::report
