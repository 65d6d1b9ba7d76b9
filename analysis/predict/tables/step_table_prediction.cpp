#include "analysis/predict/tables/step_table_prediction.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "analysis/fit/fit_summary.hpp"
#include "analysis/fit/text.hpp"

namespace ddpprof::fit {
namespace {

Prediction row_of(const StepTable& table, const TableQuestion& question, std::int64_t workers,
                  const PredictOptions& options, std::int64_t largest) {
  const StepRow asked = question.of(workers);
  const TablePrediction predicted = table.predict(asked);
  Prediction row;
  row.strategy = asked.strategy;
  row.world_size = asked.workers;
  row.gpus_per_node = question.per_node;
  row.step_s = predicted.step_s;
  row.step_low_s = predicted.low_s;
  row.step_high_s = predicted.high_s;
  row.confidence = options.confidence;
  row.compute_s = predicted.compute_s + predicted.sharing_s;  // as for traces: compute with what sharing adds to it
  row.communication_s = predicted.communication_s;
  row.exposed_s = predicted.exposed_s;
  row.skew_s = predicted.skew_s;
  row.throughput = question.samples(asked) / predicted.step_s;
  row.efficiency = predicted.alone_s / predicted.step_s;
  row.bound = predicted.bound;
  row.extrapolation = static_cast<double>(asked.workers) / static_cast<double>(largest);
  const std::string source = step_times_source;
  if (predicted.note.starts_with(links_not_measured))  // unmeasured_links() finds it at the begin
    row.note = predicted.note + "; " + source;
  else
    row.note = source + (predicted.note.empty() ? "" : "; " + predicted.note);
  return row;
}

}  // namespace

namespace {

constexpr double equal_batches = 1.5;  // global batches that differ by less are one: they have to be divisible by N

// Sets the global batch of the question if every N has one batch per worker and one accumulation, neither of which grows
// as N grows, and the global batches are about equal.
void keep_global_batch(TableQuestion& question, const std::vector<StepRow>& rows) {
  std::map<std::int64_t, std::set<std::pair<std::int64_t, std::int64_t>>> batches;  // by N: batch, accumulation
  for (const StepRow& row : rows) batches[row.workers].emplace(row.batch_per_worker, row.accumulation);
  const std::pair<std::int64_t, std::int64_t> first = *batches.begin()->second.begin();
  std::pair<std::int64_t, std::int64_t> before = first;
  double least = 0.0, most = 0.0, last = 0.0;
  for (const auto& [workers, found] : batches) {
    const auto [batch, accumulation] = *found.begin();
    if (found.size() > 1 || batch > before.first || accumulation > before.second) return;
    before = {batch, accumulation};
    last = static_cast<double>(workers) * static_cast<double>(batch) * static_cast<double>(accumulation);
    least = least > 0.0 ? std::min(least, last) : last;
    most = std::max(most, last);
  }
  constexpr double largest = 1e15;  // exact in a double
  if (before == first || most > equal_batches * least || last > largest) return;
  question.global_batch = static_cast<std::int64_t>(last);
  question.accumulation = first.second;
  question.keeps_batch = before.second < first.second;
  question.batch_per_worker = before.first;
}

}  // namespace

StepRow TableQuestion::of(std::int64_t workers) const {
  const std::int64_t devices = per_node > 0 ? per_node : workers;
  StepRow row;
  row.strategy = strategy;
  row.workers = workers;
  row.nodes = (workers + devices - 1) / devices;
  row.batch_per_worker = batch_per_worker;
  row.accumulation = accumulation;
  if (global_batch > 0) {
    if (workers > global_batch)
      throw NotSupported("the global batch of " + std::to_string(global_batch) +
                             " samples, which the table keeps, is less than one sample for each worker",
                         "give --batch-per-worker to predict with a batch of its own for each worker");
    const std::int64_t kept = keeps_batch ? batch_per_worker : 1;
    row.accumulation = std::clamp<std::int64_t>(global_batch / workers / kept, 1, accumulation);
    const std::int64_t passes = workers * row.accumulation;
    row.batch_per_worker = (global_batch + passes - 1) / passes;
  }
  row.devices_per_node = std::min(workers, devices);
  return row;
}

double TableQuestion::samples(const StepRow& asked) const {
  if (global_batch > 0) return static_cast<double>(global_batch);
  return static_cast<double>(asked.workers) * static_cast<double>(asked.batch_per_worker) *
         static_cast<double>(asked.accumulation);
}

TableQuestion usual_question(const std::vector<StepRow>& rows) {
  TableQuestion question;
  question.strategy = rows.front().strategy;
  std::map<std::int64_t, std::int64_t> batches;
  for (const StepRow& row : rows) {
    question.per_node = std::max(question.per_node, row.devices());
    ++batches[row.batch_per_worker];
  }
  question.batch_per_worker =
      std::ranges::max_element(batches, {}, [](const auto& entry) { return entry.second; })->first;
  question.accumulation = usual_accumulation(rows);
  keep_global_batch(question, rows);
  return question;
}

namespace {

// Adds the predictions, notes and knees of one strategy's rows. Throws NotSupported if the rows do not support a fit.
void add_table(PredictResult& result, const std::vector<StepRow>& rows, const std::set<std::int64_t>& workers,
               const PredictOptions& options) {
  TableQuestion question = usual_question(rows);
  if (options.gpus_per_node > 0) question.per_node = options.gpus_per_node;
  const std::int64_t largest = largest_workers(rows);
  const StepTable table(rows, table_options(options.confidence));
  for (const std::string& warning : table.warnings())
    result.notes.push_back(
        make_note("warning", "table_doubtful", question.strategy + ": " + warning, "check the table"));
  RefusedCounts refused;
  for (const std::int64_t asked : workers) {
    try {
      result.predictions.push_back(row_of(table, question, asked, options, largest));
    } catch (const NotSupported& error) {
      refused.add(question.strategy, asked, error);
    }
  }
  for (Note& note : refused.notes()) result.notes.push_back(std::move(note));
  const std::vector<scaling::ScalingPoint> points =
      scaling_points(table, question, std::min(std::max(*workers.rbegin(), largest), knee_search_limit));
  for (const double share : scaling::knee_shares) {
    Knee knee;
    knee.strategy = question.strategy;
    knee.gpus_per_node = question.per_node;
    knee.share = share;
    knee.shared_resource = std::ranges::any_of(rows, [](const StepRow& row) { return row.sync_s < 0.0; });
    knee.workers = scaling::knee(points, share);
    for (const scaling::ScalingPoint& point : points)
      if (point.workers == knee.workers) knee.exposed_share = point.exposed_s / point.step_s;
    knee.furthest = points.empty() ? 1 : points.back().workers;
    result.knees.push_back(knee);
  }
}

}  // namespace

Note none_predicted(const std::string& what, const NotSupported& error) {
  return make_note("warning", "prediction_none", what + " is not predicted: " + error.reason(), error.advice());
}

void RefusedCounts::add(const std::string& strategy, std::int64_t workers, const NotSupported& error) {
  const auto known = std::ranges::find_if(
      reasons_, [&](const Reason& one) { return one.strategy == strategy && one.error.reason() == error.reason(); });
  if (known != reasons_.end())
    known->workers.push_back(workers);
  else
    reasons_.push_back({strategy, error, {workers}});
}

std::vector<Note> RefusedCounts::notes() const {
  std::vector<Note> notes;
  for (const Reason& one : reasons_) {
    std::string counts;
    for (const std::int64_t workers : one.workers) counts += (counts.empty() ? "" : ", ") + std::to_string(workers);
    notes.push_back(none_predicted(one.strategy + " at N = " + counts, one.error));
  }
  return notes;
}

NotSupported no_strategy_predicted(const std::vector<Note>& refused) {
  std::set<std::string> reasons;
  for (const Note& one : refused) reasons.insert(one.message);
  std::string all;
  for (const std::string& one : reasons) all += (all.empty() ? "" : "; ") + one;
  return {all, refused.front().advice};
}

std::int64_t usual_accumulation(const std::vector<StepRow>& rows) {
  return std::ranges::max_element(rows, {}, [](const StepRow& row) {
           return std::pair{row.workers, -row.accumulation};
         })->accumulation;
}

std::int64_t largest_workers(const std::vector<StepRow>& rows) {
  std::int64_t largest = 1;
  for (const StepRow& row : rows) largest = std::max(largest, row.workers);
  return largest;
}

TableOptions table_options(double confidence) {
  TableOptions options;
  options.confidence = confidence;
  // 20 draws or more are beyond each end of the interval, up to a confidence of 99.9 %.
  options.draws = static_cast<int>(std::clamp(40.0 / (1.0 - confidence), 400.0, 40000.0));
  return options;
}

namespace {

// Every N up to 64, then 16 N for each doubling, among them the powers of two.
std::int64_t next_of_search(std::int64_t workers) {
  if (workers < 64) return workers + 1;
  return workers + static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(workers)) / 16);
}

}  // namespace

std::vector<scaling::ScalingPoint> scaling_points(const StepTable& table, const TableQuestion& question,
                                                  std::int64_t largest) {
  std::vector<scaling::ScalingPoint> points;
  for (std::int64_t workers = 2; workers <= largest;) {
    try {
      const TablePrediction prediction = table.predict(question.of(workers));
      points.push_back({workers, prediction.step_s, prediction.exposed_s});
    } catch (const NotSupported&) {
      // An N whose batch the table does not support, for example one that does not divide the global batch.
    }
    const std::int64_t next = next_of_search(workers);
    workers = workers < largest ? std::min(next, largest) : next;
  }
  return points;
}

PredictResult predict_steps(const std::vector<StepRow>& rows, const PredictOptions& options) {
  if (options.what_if.any())
    throw NotSupported("a table of step times does not contain the parts of a step",
                       "import a trace of the job to predict a change");
  if (!options.all_reduce.empty())
    throw NotSupported("a table of step times does not contain the communication of a step",
                       "import a trace of the job to use all-reduces measured elsewhere");
  const std::set<std::int64_t> workers(options.workers.begin(), options.workers.end());
  PredictResult result;
  const std::map<std::string, std::vector<StepRow>> tables = by_strategy(rows);
  for (const auto& [strategy, table] : tables) {
    try {
      add_table(result, table, workers, options);
    } catch (const NotSupported& error) {
      result.notes.push_back(none_predicted(strategy, error));
    }
  }
  if (result.predictions.empty()) throw no_strategy_predicted(result.notes);
  return result;
}

}  // namespace ddpprof::fit
