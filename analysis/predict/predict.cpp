#include "analysis/predict/predict.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "analysis/fit/table/stored_steps.hpp"
#include "analysis/predict/prediction_notes.hpp"
#include "analysis/predict/predictor.hpp"
#include "analysis/predict/sharded/sharded_prediction.hpp"
#include "analysis/predict/standard_changes.hpp"
#include "analysis/predict/tables/step_table_prediction.hpp"
#include "simulator/scaling/knee.hpp"

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

void add_knees(PredictResult& result, const Predictor& predictor, const PredictOptions& options, const WhatIf& change) {
  KneeSearch search;
  search.furthest = knees_up_to(predictor, *std::ranges::max_element(options.workers), change);
  const std::optional<std::vector<Knee>> found = knees(predictor, change, search);
  for (const Knee& knee : *found) {
    if (!change.any() && knee.workers && knee.share == scaling::communication_bound_share)
      result.notes.push_back(communication_bound_note(knee));
    result.knees.push_back(knee);
  }
}

void add_next_measurement(PredictResult& result, const Predictor& predictor, std::int64_t workers) {
  const std::string& strategy = predictor.job().strategy();
  const auto next = next_measurement(predictor, workers);
  if (!next) return;
  result.next[strategy] = *next;
  result.notes.push_back(next_measurement_note(
      *next, strategy, workers, predictor.job().options().confidence, predictor.job().models().measured.imported,
      !predictor.job().options().dedicated && shares_cores(predictor.job(), next->workers) ? "on these cores" : ""));
}

void add_next_batch(PredictResult& result, const Predictor& predictor, std::int64_t workers) {
  const MeasuredJob& job = predictor.job();
  const WhatIf& change = job.options().what_if;
  const std::string assumed = batch_assumption(job, change);
  if (!assumed.empty()) result.notes.push_back(batch_assumed_note(job.strategy(), assumed));
  try {
    const auto next = next_batch(predictor, workers, change);
    if (!next) return;
    result.next_batch[job.strategy()] = *next;
    result.notes.push_back(
        next_batch_note(*next, job.strategy(), workers, job.options().confidence, job.models().measured.imported));
  } catch (const std::invalid_argument&) {
    // The change cannot be applied at this N: add_change has added a note.
  }
}

// Adds the effect of the options' change at this N, and its gains. `bound`: of the step without the change.
void add_change(PredictResult& result, const Predictor& predictor, std::int64_t workers, const std::string& bound) {
  const std::string& strategy = predictor.job().strategy();
  const WhatIf& change = predictor.job().options().what_if;
  try {
    WhatIfRow row = change_effect(predictor, workers, change);
    std::vector<TermGain> changed_gains = gains(predictor, workers, change);
    row.bound = bound;
    row.changed_bound = binding(changed_gains);
    result.why.push_back({strategy, workers, true, row.changed_step_s, row.changed_bound, std::move(changed_gains)});
    result.what_ifs.push_back(std::move(row));
  } catch (const std::invalid_argument& error) {
    result.notes.push_back(what_if_none_note(strategy, workers, error.what()));
  }
}

void add_strong_scaling(std::vector<StrongScaling>& all, const Predictor& predictor) {
  const PredictOptions& options = predictor.job().options();
  if (options.global_batch || batches_measured(predictor))
    all.push_back(strong_scaling(predictor, options.workers, options.global_batch));
}

void add_strategy(PredictResult& result, const Predictor& predictor, const std::set<std::int64_t>& counts) {
  const MeasuredJob& job = predictor.job();
  const PredictOptions& options = job.options();
  const std::string& strategy = job.strategy();
  bool with_change = options.what_if.any();
  if (with_change)
    if (const auto refused = change_refusal(job, options.what_if)) {
      with_change = false;
      result.notes.push_back(what_if_none_note(strategy, refused->reason));
    }
  std::optional<std::int64_t> furthest;        // the largest N that was predicted
  std::string linked, inside;                  // the worker counts that need links that were not measured
  std::map<std::string, std::string> refused;  // the worker counts, by reason
  for (const std::int64_t workers : counts) {
    if (const auto refusal = predictor.refusal(workers)) {
      std::string& listed = refused[refusal->reason];
      listed += (listed.empty() ? "" : ", ") + std::to_string(workers);
      continue;
    }
    std::vector<TermGain> why = gains(predictor, workers);
    const Prediction row = predict(predictor, workers, why);
    result.predictions.push_back(row);
    result.why.push_back({strategy, workers, false, row.step_s, row.bound, std::move(why)});
    if (with_change) add_change(result, predictor, workers, row.bound);
    furthest = workers;
    if (job.needs_unmeasured_links(job.machine_for(workers)))
      linked += (linked.empty() ? "" : ", ") + std::to_string(workers);
    else if (job.needs_unmeasured_inside_links(job.machine_for(workers)))
      inside += (inside.empty() ? "" : ", ") + std::to_string(workers);
    else if (is_wide(row))
      result.notes.push_back(uncertain_note(row));
    if (row.efficiency > 1.05 && workers > 1) result.notes.push_back(too_good_note(row));
  }
  const auto host_bound = [&](const Prediction& row) {
    return row.strategy == strategy && row.bound == to_string(Term::host);
  };
  const bool beyond_measured = std::ranges::any_of(result.predictions, [&](const Prediction& row) {
    return host_bound(row) && row.world_size > job.largest_measured();
  });
  // The smallest N.
  if (const auto row = std::ranges::find_if(result.predictions, host_bound); row != result.predictions.end())
    result.notes.push_back(host_bound_note(strategy, row->world_size, row->host_s / row->step_s, beyond_measured));
  for (const auto& [reason, listed] : refused)
    result.notes.push_back(not_predicted_note(job.models(), strategy, listed, reason));
  if (!inside.empty()) result.notes.insert(result.notes.begin(), inside_links_note(job, inside));
  if (!linked.empty())
    result.notes.insert(result.notes.begin(), links_note(job, linked));
  else if (furthest && job.is_ddp() && job.options().inter_node.named())
    result.notes.push_back(unused_link_note(job));
  if (furthest) add_next_measurement(result, predictor, *furthest);
  if (furthest && with_change) add_next_batch(result, predictor, *furthest);
  const double correction = largest_correction(predictor.prepared().calibrations, job.largest_measured());
  if (furthest && *furthest > 1 && correction > largest_trusted_correction)
    result.notes.push_back(corrected_note(strategy, job.largest_measured(), correction));
  add_strong_scaling(result.strong, predictor);
  add_knees(result, predictor, options, {});
  if (with_change) add_knees(result, predictor, options, options.what_if);
}

// Returns an empty list of predictions if the data do not support any.
PredictResult predict_measured(const std::shared_ptr<const Models>& models, const PredictOptions& options) {
  validate(options);
  const std::set<std::int64_t> counts(options.workers.begin(), options.workers.end());
  PredictResult result;
  if (!options.all_reduce.empty() || !models->measured.curves.empty()) result.notes = log_notes(*models);
  if (!models->measured.ddp.empty()) add_strategy(result, make_predictor(models, "ddp", options), counts);
  if (!models->measured.dp.empty()) add_strategy(result, make_predictor(models, "dp", options), counts);
  return result;
}

void append(PredictResult& result, PredictResult&& more) {
  std::ranges::move(more.predictions, std::back_inserter(result.predictions));
  std::ranges::move(more.memory, std::back_inserter(result.memory));
  result.next.merge(more.next);
  std::ranges::move(more.what_ifs, std::back_inserter(result.what_ifs));
  std::ranges::move(more.notes, std::back_inserter(result.notes));
}

// Returns none if the database has no other training than the predicted one of `sharded`.
std::shared_ptr<const Models> models_beside(store::Database& database, const PredictOptions& options,
                                            const PredictResult& sharded) {
  try {
    return std::make_shared<const Models>(fit_models(database, options.all_reduce));
  } catch (const NotSupported&) {
    if (!sharded.predictions.empty()) return nullptr;
    if (sharded.notes.empty()) throw;
    throw NotSupported(sharded.notes.front().message, sharded.notes.front().advice);
  }
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
  PredictResult sharded = predict_sharded(database.sql(), options);
  const std::shared_ptr<const Models> models = models_beside(database, options, sharded);
  if (!models) return sharded;
  PredictResult result = predict_measured(models, options);
  result.models = models;
  append(result, std::move(sharded));
  if (result.predictions.empty()) nothing_predicted(*models, result);
  return result;
}

PredictResult predict_all(const std::shared_ptr<const Models>& models, const PredictOptions& options) {
  PredictResult result = predict_measured(models, options);
  if (result.predictions.empty()) nothing_predicted(*models, result);
  return result;
}

std::vector<StrongScaling> predict_strong_scaling(const std::shared_ptr<const Models>& models,
                                                  const PredictOptions& options) {
  validate(options);
  std::vector<StrongScaling> all;
  for (const char* strategy : {"ddp", "dp"}) {
    const auto& profiles = std::string_view(strategy) == "ddp" ? models->measured.ddp : models->measured.dp;
    if (!profiles.empty()) add_strong_scaling(all, make_predictor(models, strategy, options));
  }
  return all;
}

Results fit_and_predict(store::Database& database, const PredictOptions& options) {
  Results results;
  validate(options);
  if (const std::vector<StepRow> steps = stored_steps(database); !steps.empty()) {
    results.predicted = predict_steps(steps, options);
    write_predictions(database, results.predicted);
    return results;
  }
  PredictResult sharded = predict_sharded(database.sql(), options);
  const std::shared_ptr<const Models> models = models_beside(database, options, sharded);
  if (models) {
    results.fit = summarise_fits(*models);
    results.predicted = predict_measured(models, options);
    results.predicted.models = models;
  }
  append(results.predicted, std::move(sharded));
  write_fits(database, results.fit);
  write_predictions(database, results.predicted);
  if (models && results.predicted.predictions.empty()) nothing_predicted(*models, results.predicted);
  return results;
}

Results fit_and_predict(store::Database& database, const PredictOptions& options,
                        const LearningRateOptions& learning_rate_options) {
  write_learning_rates(database, learning_rate_options);
  Results results = fit_and_predict(database, options);
  results.learning_rates = learning_rates(learning_rate_options);
  return results;
}

}  // namespace ddpprof::fit
