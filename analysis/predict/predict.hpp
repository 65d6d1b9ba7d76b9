// Predictions for N workers from the measurements of one trace database, and learning rates.
//
// predict_all only reads. fit_and_predict and the write functions replace the rows that an earlier call wrote. The same
// database and options give the same results to the last bit, because a seeded generator makes every random draw.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/fit/fit_summary.hpp"
#include "analysis/fit/models.hpp"
#include "analysis/fit/not_supported.hpp"
#include "analysis/predict/change_effect.hpp"
#include "analysis/predict/gains.hpp"
#include "analysis/predict/knees.hpp"
#include "analysis/predict/learning_rate.hpp"
#include "analysis/predict/next_measurement.hpp"
#include "analysis/predict/prediction.hpp"
#include "analysis/predict/sharded/sharded_memory.hpp"
#include "analysis/predict/step_model/options.hpp"
#include "analysis/predict/strong_scaling.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::fit {

// The gain of each term of one step.
struct WhyRow {
  std::string strategy;
  std::int64_t workers = 1;
  bool changed = false;  // with the options' change
  double step_s = 0.0;
  std::string bound;  // the term with the largest gain
  std::vector<TermGain> gains;
};

struct PredictResult {
  std::vector<Prediction> predictions;  // by strategy, then N; none for a strategy that cannot be predicted
  std::vector<WhyRow> why;              // for each prediction, and for each change
  std::vector<WhatIfRow> what_ifs;      // empty without a change
  std::vector<ShardedMemory> memory;    // of sharded trainings, at each predicted N and under a change
  // By strategy: the measurement that would narrow its furthest prediction most.
  std::map<std::string, NextMeasurement> next;
  // By strategy: a run with the batch of the options' change, if that batch was not measured.
  std::map<std::string, NextMeasurement> next_batch;
  // By strategy, if several batches per worker were measured or a global batch is asked about.
  std::vector<StrongScaling> strong;
  std::vector<Knee> knees;  // by strategy and share, without the change, then with it
  std::vector<Note> notes;
  std::shared_ptr<const Models> models;  // of ddp and dp; null if only a sharded training (FSDP) is predicted
};

// Throws NotSupported if no strategy can be predicted at any of the worker counts, and std::invalid_argument for
// invalid options (a worker count below 1, a confidence outside (0, 1), …).
PredictResult predict_all(store::Database&, const PredictOptions&);
// The same with models that were fitted before, with the options' curves of all-reduces if there are any.
PredictResult predict_all(const std::shared_ptr<const Models>&, const PredictOptions&);

// Returns `strong` of predict_all alone. Empty if fewer than two batches were measured. Throws as predict_all does.
std::vector<StrongScaling> predict_strong_scaling(const std::shared_ptr<const Models>&, const PredictOptions&);

struct Results {
  FitSummary fit;
  PredictResult predicted;
  std::vector<LearningRate> learning_rates;
};

// Fits, predicts, and writes the tables fit and prediction and the diagnostics of fits and predictions, from one reading
// of the measurements; with options of learning rates, the table learning_rate, too. If nothing can be predicted, the
// fits and the reason are written before NotSupported is thrown.
Results fit_and_predict(store::Database&, const PredictOptions&);
Results fit_and_predict(store::Database&, const PredictOptions&, const LearningRateOptions&);

void write_fits(store::Database&, const FitSummary&);
void write_predictions(store::Database&, const PredictResult&);
void write_learning_rates(store::Database&, const LearningRateOptions&);

}  // namespace ddpprof::fit
