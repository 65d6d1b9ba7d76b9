// What N workers would do, from the measurements of one trace database: predictions and learning rates.
//
// predict_all only reads. fit_and_predict and the write functions replace the rows that an earlier call wrote. The same
// database and options give the same results to the last bit, because a seeded generator makes every random draw.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/fit/fit_summary.hpp"
#include "analysis/fit/models.hpp"
#include "analysis/fit/not_supported.hpp"
#include "analysis/predict/what_if.hpp"
#include "simulator/collective/curve.hpp"
#include "simulator/learning_rate/rules.hpp"
#include "simulator/scaling/efficiency.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/rows/result_rows.hpp"
#include "tracer/store/rows/run_rows.hpp"

namespace ddpprof::fit {

struct PredictOptions {
  std::vector<std::int64_t> workers = {8, 16, 32, 64};
  std::int64_t gpus_per_node = 0;  // ranks per host; 0: all on one host
  double confidence = 0.9;         // of the intervals
  bool dedicated = false;          // every rank has the cores one rank has at N = 1; else they crowd this machine's
  // All-reduces measured elsewhere, as an nccl-tests log has them: they take the place of the fitted links.
  std::vector<collective::Curve> all_reduce;
  WhatIf what_if;   // predicted beside what is as measured
  int draws = 400;  // of the Monte Carlo behind each interval
  std::uint64_t seed = 1;
};

struct LearningRateOptions {
  std::vector<std::int64_t> workers;
  double base_lr = 0.01;
  std::int64_t base_workers = 1;                 // base_lr was tuned at this many workers, with this batch a worker,
  std::optional<std::int64_t> tuned_batch = {};  // or at this global batch, where it is known
  std::int64_t samples_per_worker = 32;          // of one optimizer step: micro-batch times accumulation
  std::int64_t samples = 10000;                  // of one epoch
  bool drop_last = false;
  double warmup_epochs = 5.0;
  std::int64_t epochs = 90;
  bool adaptive_optimizer = false;
  learning_rate::Rule rule = learning_rate::Rule::linear;  // of learning_rates
  learning_rate::Decay decay;                              // of the schedules; learning_rates' targets come before it
  std::optional<double> noise_scale_samples = {};          // the gradient's: AdaScale's gain is made of it
  bool applied =
      false;  // by this schedule the file's trainings were: epochs then count as the worker's loader has them

  // That base_lr was tuned at. Throws std::invalid_argument above learning_rate::most_counted.
  std::int64_t base_batch() const {
    return tuned_batch ? *tuned_batch : learning_rate::global_batch(base_workers, samples_per_worker);
  }
};

using Prediction = store::PredictionRow;
using LearningRate = store::LearningRateRow;

struct TermGain {
  Term term = Term::compute;
  double share = 0.0;  // of the step that would be gone if the term took no time
};

// The term whose gain is the largest; compute when none gives anything.
std::string_view binding(const std::vector<TermGain>&);

// Why a step takes what it takes.
struct WhyRow {
  std::string strategy;
  std::int64_t workers = 1;
  bool changed = false;  // with the options' change
  double step_s = 0.0;
  std::string bound;  // the term that gives most
  std::vector<TermGain> gains;
};

struct WhatIfRow {
  std::string strategy;
  std::int64_t workers = 1;
  double step_s = 0.0, changed_step_s = 0.0, changed_low_s = 0.0, changed_high_s = 0.0;
  double throughput = 0.0, changed_throughput = 0.0;            // samples/s
  double speedup = 1.0, speedup_low = 1.0, speedup_high = 1.0;  // of the throughput, each draw beside its own
  std::string bound, changed_bound;
};

// As far as knees are looked for; Predictor::knees_up_to says where further and where not so far.
inline constexpr std::int64_t knee_search_limit = 4096;

// The smallest N from 2 on at which exposed communication, waiting for slower ranks included, exceeds a share of the
// step. What was measured counts before the model.
struct Knee {
  std::string strategy;
  std::int64_t gpus_per_node = 0;
  bool changed = false;  // with the options' change
  double share = scaling::communication_bound_share;
  std::optional<std::int64_t> workers;  // none up to `furthest`
  double exposed_share = 0.0;           // there
  bool measured = false;                // there
  std::int64_t furthest = 0;            // the largest N looked at that can be predicted
  // Of the N looked at: how many cannot be predicted, the smallest and the largest of them.
  std::int64_t passed_over = 0, first_passed_over = 0, last_passed_over = 0;
};

struct NextMeasurement {
  std::int64_t workers = 1;           // N to measure at
  bool bench_comm = false;            // all-reduces alone, rather than the strategy
  double now = 0.0, then = 0.0;       // half the interval's width as a share of the step, before and after
  std::int64_t batch_per_worker = 0;  // with this batch; 0: the measured one
};

struct PredictResult {
  std::vector<Prediction> predictions;          // by strategy, then N; none for a strategy whose data forbid it
  std::vector<WhyRow> why;                      // of each prediction, and of each change
  std::vector<WhatIfRow> what_ifs;              // empty without a change
  std::map<std::string, NextMeasurement> next;  // strategy -> what would narrow its furthest prediction most
  // The same of the options' change, where it has a batch that was not measured: a run with that batch.
  std::map<std::string, NextMeasurement> next_batch;
  std::vector<Knee> knees;  // by strategy and share, without the change, then with it
  std::vector<Note> notes;
};

// Throws NotSupported when no strategy can be predicted at any of the worker counts, std::invalid_argument on options
// that cannot be (a worker count below 1, a confidence outside (0, 1), …).
PredictResult predict_all(store::Database&, const PredictOptions&);
// The same from models that were fitted before, with the options' curves of all-reduces if there are any.
PredictResult predict_all(const Models&, const PredictOptions&);
std::vector<Prediction> predict(store::Database&, const PredictOptions&);  // predict_all's predictions

// The rate of the options' rule for each worker count, without a decay; the per-step schedule is
// simulator/learning_rate's lr_at. None for an N at which the rule refuses (learning_rate::refusal): Adam's square root
// far above the base batch, AdaScale without a noise scale.
std::vector<LearningRate> learning_rates(const LearningRateOptions&);

struct Results {
  FitSummary fit;
  PredictResult predicted;
  std::vector<LearningRate> learning_rates;
};

// Fits, predicts and writes the tables fit, prediction, learning_rate, and diagnostic's rows of this room. When the
// data carry no prediction, what could be fitted and the reason are written before NotSupported is thrown.
Results fit_and_predict(store::Database&, const PredictOptions&, const LearningRateOptions&);

void write_fits(store::Database&, const FitSummary&);
void write_predictions(store::Database&, const PredictResult&);
void write_learning_rates(store::Database&, const LearningRateOptions&);

}  // namespace ddpprof::fit
