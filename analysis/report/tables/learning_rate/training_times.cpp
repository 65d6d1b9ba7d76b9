#include "analysis/report/tables/learning_rate/training_times.hpp"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

namespace ddpprof::report {
namespace {

// Returns "32", or "32 × 4" with accumulation.
std::string batch_text(std::int64_t batch, std::int64_t accumulation) {
  return accumulation > 1 ? fmt::format("{} × {}", batch, accumulation) : std::to_string(batch);
}

TrainingTime time_at(const fit::Predictor& predictor, const std::string& strategy, std::int64_t workers,
                     const fit::WhatIf& change, const std::string& batch_note, double confidence) {
  TrainingTime row;
  row.strategy = strategy;
  row.workers = workers;
  row.confidence = confidence;
  if (const auto refused = predictor.refusal(workers, change)) {
    row.note = refused->reason;
    return row;
  }
  try {
    if (change.any()) {
      const fit::WhatIfRow changed = fit::change_effect(predictor, workers, change);
      row.throughput = changed.changed_throughput;
      row.step_s = changed.changed_step_s;
      row.step_low_s = changed.changed_low_s;
      row.step_high_s = changed.changed_high_s;
      row.note = batch_note;
    } else {
      const fit::Prediction predicted = fit::predict(predictor, workers, {});
      row.throughput = predicted.throughput;
      row.step_s = predicted.step_s;
      row.step_low_s = predicted.step_low_s;
      row.step_high_s = predicted.step_high_s;
    }
  } catch (const std::invalid_argument& error) {
    row.note = error.what();
  }
  return row;
}

}  // namespace

std::vector<TrainingTime> training_times(const std::shared_ptr<const fit::Models>& models,
                                         const fit::PredictOptions& predict, const fit::LearningRateOptions& options,
                                         std::int64_t batch, std::int64_t accumulation,
                                         const std::function<bool()>& stop) {
  const std::set<std::int64_t> counts(options.workers.begin(), options.workers.end());
  const auto stopped = [&] { return stop && stop(); };
  std::vector<TrainingTime> rows;
  for (const std::string strategy : {"ddp", "dp"}) {
    const auto& profiles = strategy == "ddp" ? models->measured.ddp : models->measured.dp;
    if (profiles.empty() || stopped()) continue;
    const fit::Predictor predictor = fit::make_predictor(models, strategy, predict);
    const fit::StepProfile& measured = profiles.rbegin()->second;
    fit::WhatIf change;
    if (batch != measured.batch_per_worker) change.batch_per_worker = batch;
    if (accumulation != measured.accumulation) change.accumulation = accumulation;
    const std::string batch_note =
        fmt::format("for {} samples per worker and step; measured: {}", batch_text(batch, accumulation),
                    batch_text(measured.batch_per_worker, measured.accumulation));
    for (const std::int64_t workers : counts) {
      if (stopped()) break;
      rows.push_back(time_at(predictor, strategy, workers, change, batch_note, predict.confidence));
    }
  }
  return rows;
}

}  // namespace ddpprof::report
