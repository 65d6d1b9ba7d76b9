#include "analysis/predict/predict.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/fit/table/stored_steps.hpp"
#include "analysis/fit/text.hpp"
#include "analysis/predict/predictor.hpp"
#include "analysis/predict/step_table_prediction.hpp"
#include "simulator/scaling/efficiency.hpp"

namespace ddpprof::fit {
namespace {

constexpr double largest_trusted_correction = 1.5;  // of waiting or step at the largest measured N

void validate(const PredictOptions& options) {
  if (options.workers.empty()) throw std::invalid_argument("predict: no worker counts, expected at least one");
  for (const std::int64_t workers : options.workers) {
    if (workers < 1 || workers > 1000000) {
      throw std::invalid_argument("predict: " + std::to_string(workers) + " workers, expected 1 to 1000000");
    }
  }
  if (options.gpus_per_node < 0) throw std::invalid_argument("predict: gpus_per_node below 0");
  if (!(options.confidence > 0.0 && options.confidence < 1.0)) {
    throw std::invalid_argument("predict: confidence " + std::to_string(options.confidence) +
                                ", expected between 0 and 1");
  }
  if (options.draws < 20) throw std::invalid_argument("predict: fewer than 20 draws give no interval");
}

// Where communication takes over, without the options' change and with it.
void add_knees(PredictResult& result, const Predictor& predictor, const PredictOptions& options, bool with_change) {
  const auto add = [&](const WhatIf& change) {
    KneeSearch search;
    search.furthest = predictor.knees_up_to(*std::ranges::max_element(options.workers), change);
    const auto found = predictor.knees(change, search);
    for (const Knee& knee : *found) {
      if (!change.any() && knee.workers && knee.share == scaling::communication_bound_share) {
        const std::string what = knee.strategy == "dp" ? "copies" : "exposed communication";
        result.notes.push_back(make_note("info", "communication_bound",
                                         knee.strategy + ": first at N = " + std::to_string(*knee.workers) + ", " +
                                             what + " takes more than " + percent(knee.share) + " of the step",
                                         "a larger batch a worker or gradient accumulation moves it to larger N"));
      }
      result.knees.push_back(knee);
    }
  };
  add({});
  if (with_change) add(options.what_if);
}

// Which measurement would narrow the furthest prediction most.
void advise(PredictResult& result, const Predictor& predictor, const std::string& strategy, std::int64_t workers,
            double confidence) {
  const auto next = predictor.next_measurement(workers);
  if (!next) return;
  result.next[strategy] = *next;
  const std::string at = "N = " + std::to_string(next->workers);
  result.notes.push_back(make_note(
      "info", "measure_next",
      strategy + " at N = " + std::to_string(workers) + ": of what could be measured in addition, " +
          (next->bench_comm ? "all-reduces alone at " + at : strategy + " at " + at) + " would narrow the " +
          percent(confidence) + " interval most, from about ±" + percent(next->now) + " to ±" + percent(next->then),
      next->bench_comm ? "ddpprof bench-comm, or ddpprof worker --bench-comm between hosts"
                       : "add " + std::to_string(next->workers) + " to the workers that are measured"));
}

// What a change of the batch rests on, and what measuring that batch would make of it.
void advise_batch(PredictResult& result, const Predictor& predictor, const std::string& strategy, std::int64_t workers,
                  const PredictOptions& options) {
  const WhatIf& change = options.what_if;
  const std::string assumed = predictor.batch_assumption(change);
  if (!assumed.empty())
    result.notes.push_back(
        make_note("info", "batch_assumed", strategy + ": " + assumed,
                  "measure the same with a second batch a worker, best one no smaller than asked about"));
  try {
    const auto next = predictor.next_batch(workers, change);
    if (!next) return;
    result.next_batch[strategy] = *next;
    const std::string batch = std::to_string(next->batch_per_worker), at = std::to_string(next->workers);
    result.notes.push_back(make_note("info", "measure_next",
                                     strategy + " at N = " + std::to_string(workers) + " with " + batch +
                                         " samples a worker: " + strategy + " at N = " + at +
                                         " with that batch would take the " + percent(options.confidence) +
                                         " interval from about ±" + percent(next->now) + " to ±" + percent(next->then),
                                     "workload.batch_per_worker: " + batch + ", workers: [" + at + "]"));
  } catch (const std::invalid_argument&) {
    // The change cannot be at so many workers: its own row says why.
  }
}

// What the options' change would make of the step, and why that takes what it takes.
void explain(PredictResult& result, const Predictor& predictor, const std::string& strategy, std::int64_t workers) {
  try {
    WhatIfRow row = predictor.what_if(workers);
    std::vector<TermGain> gains = predictor.gains(workers, true);
    row.bound = result.predictions.back().bound;
    row.changed_bound = binding(gains);
    result.why.push_back({strategy, workers, true, row.changed_step_s, row.changed_bound, std::move(gains)});
    result.what_ifs.push_back(std::move(row));
  } catch (const std::invalid_argument& error) {
    result.notes.push_back(make_note("warning", "what_if_none",
                                     strategy + " at N = " + std::to_string(workers) + ": " + error.what(),
                                     "ask about another change, or other worker counts"));
  }
}

// What the logs that were given say, and where they say nothing.
void note_logs(PredictResult& result, const Models& models) {
  for (const std::string& text : models.all_reduce.notes)
    result.notes.push_back(
        make_note("info", "fit_assumption", "ddp all_reduce: " + text, "measure on the machines asked about"));
  for (const std::string& text : models.all_reduce.warnings)
    result.notes.push_back(make_note("warning", "fit_doubtful", "ddp all_reduce: " + text,
                                     "give a log of the machines that the database was measured on"));
  if (!models.measured.dp.empty())
    result.notes.push_back(make_note("info", "fit_assumption",
                                     "dp: a log of all-reduces says nothing of DataParallel's copies",
                                     "its predictions are as without"));
}

PredictResult run(const Models& models, const PredictOptions& options) {
  validate(options);
  const std::set<std::int64_t> counts(options.workers.begin(), options.workers.end());
  PredictResult result;
  if (!options.all_reduce.empty() || !models.measured.curves.empty()) note_logs(result, models);
  for (const std::string strategy : {"ddp", "dp"}) {
    const bool measured = !(strategy == "ddp" ? models.measured.ddp : models.measured.dp).empty();
    if (!measured) continue;
    const Predictor predictor(models, strategy, options);
    const std::string no_change = options.what_if.any() ? predictor.no_change(options.what_if) : "";
    if (!no_change.empty()) {
      result.notes.push_back(make_note("warning", "what_if_none", strategy + ": " + no_change,
                                       "ask about another change for this strategy"));
    }
    bool any_beyond_one = false;
    std::map<std::string, std::string> refused;  // the worker counts, by why
    for (const std::int64_t workers : counts) {
      const std::string refusal = predictor.refusal(workers);
      if (!refusal.empty()) {
        std::string& listed = refused[refusal];
        listed += (listed.empty() ? "" : ", ") + std::to_string(workers);
        continue;
      }
      std::vector<TermGain> gains = predictor.gains(workers);
      result.predictions.push_back(predictor.predict(workers, gains));
      result.why.push_back({strategy, workers, false, result.predictions.back().step_s, result.predictions.back().bound,
                            std::move(gains)});
      if (options.what_if.any() && no_change.empty()) explain(result, predictor, strategy, workers);
      any_beyond_one = any_beyond_one || workers > 1;
      const Prediction& row = result.predictions.back();
      if (Predictor::is_wide(row)) {
        result.notes.push_back(make_note("warning", "prediction_uncertain",
                                         strategy + " at N = " + std::to_string(workers) + ": the interval from " +
                                             time_text(row.step_low_s) + " to " + time_text(row.step_high_s) +
                                             " spans more than a factor of ten",
                                         "measure at more worker counts, and at some nearer to this one"));
      }
      if (row.efficiency > 1.05 && workers > 1) {
        result.notes.push_back(make_note("warning", "prediction_too_good",
                                         strategy + " at N = " + std::to_string(workers) + ": efficiency " +
                                             percent(row.efficiency) + ", more than N times one worker's throughput",
                                         "N = 1 was measured too slow (a cold start, another load): measure it again"));
      }
    }
    for (const auto& [why, listed] : refused)
      result.notes.push_back(make_note("warning", "prediction_none",
                                       strategy + " at N = " + listed + " is not predicted: " + why,
                                       advice_on_links(models,
                                                       "measure this strategy at 2 workers and more, or run "
                                                       "ddpprof bench-comm")));
    if (!result.predictions.empty() && result.predictions.back().strategy == strategy)
      advise(result, predictor, strategy, result.predictions.back().world_size, options.confidence);
    if (options.what_if.any() && no_change.empty() && !result.predictions.empty() &&
        result.predictions.back().strategy == strategy)
      advise_batch(result, predictor, strategy, result.predictions.back().world_size, options);
    if (any_beyond_one && predictor.largest_correction() > largest_trusted_correction) {
      result.notes.push_back(make_note(
          "warning", "prediction_corrected",
          strategy + " at N = " + std::to_string(predictor.largest_measured()) +
              ": the models are corrected by a factor of " + number_text(predictor.largest_correction()) +
              " to give what was measured, and predictions beyond rest on that factor",
          "the fits do not describe this machine: trust the intervals, or measure nearer to the N asked about"));
    }
    add_knees(result, predictor, options, options.what_if.any() && no_change.empty());
  }
  return result;
}

[[noreturn]] void nothing_predicted(const Models& models, const PredictResult& result) {
  if (!models.measured.not_predicted.empty())
    throw NotSupported(models.measured.not_predicted, models.measured.not_predicted_advice);
  auto why = std::ranges::find(result.notes, "prediction_none", &store::DiagnosticRow::code);
  if (why == result.notes.end()) why = result.notes.begin();
  throw NotSupported(
      why == result.notes.end() ? "no training step was measured" : why->message,
      advice_on_links(models,
                      "measure ddp or dp at 2 workers and more (ddpprof run --workers 1,2,4), or run ddpprof "
                      "bench-comm"));
}

}  // namespace

PredictResult predict_all(store::Database& database, const PredictOptions& options) {
  validate(options);
  if (const std::vector<StepRow> steps = stored_steps(database); !steps.empty()) return predict_steps(steps, options);
  return predict_all(fit_models(database, options.all_reduce), options);
}

PredictResult predict_all(const Models& models, const PredictOptions& options) {
  PredictResult result = run(models, options);
  if (result.predictions.empty()) nothing_predicted(models, result);
  return result;
}

std::vector<Prediction> predict(store::Database& database, const PredictOptions& options) {
  return predict_all(database, options).predictions;
}

Results fit_and_predict(store::Database& database, const PredictOptions& options,
                        const LearningRateOptions& learning_rate_options) {
  Results results;
  results.learning_rates = learning_rates(learning_rate_options);
  write_learning_rates(database, learning_rate_options);
  const Models models = fit_models(database, options.all_reduce);
  results.fit = summarise_fits(models);
  write_fits(database, results.fit);
  results.predicted = run(models, options);
  write_predictions(database, results.predicted);
  if (results.predicted.predictions.empty()) nothing_predicted(models, results.predicted);
  return results;
}

}  // namespace ddpprof::fit
