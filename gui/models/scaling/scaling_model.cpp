#include "gui/models/scaling/scaling_model.hpp"

#include <algorithm>
#include <utility>

#include "analysis/report/tables/models/model_tables.hpp"
#include "analysis/report/tables/models/what_if_tables.hpp"
#include "gui/models/scaling/worker_counts.hpp"

namespace ddpprof::gui::whatif {
namespace {

constexpr std::chrono::milliseconds first_snapshot(4);  // leaves the rest of a 16 ms frame to painting
constexpr int rest_ms = 120;  // time without a change after which the slower answers are computed
constexpr std::int64_t least_limit = 64;

std::int64_t next_power(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

}  // namespace

PredictTables predict_tables(const OpenedFile& file, const fit::PredictOptions& options) {
  const fit::PredictResult result = fit::predict_all(file.models, options);
  PredictTables tables;
  tables.predictions = report::predictions_table(result.predictions);
  tables.has_what_if = options.what_if.any();
  if (tables.has_what_if) tables.what_if = report::what_if_table(result.what_ifs, options.what_if, options.confidence);
  tables.why = report::why_table(result.why, options.what_if);
  tables.knee = report::knee_table(result.knees, options.what_if);
  tables.notes = report::notes_table(result.notes);
  return tables;
}

fit::PredictOptions tables_question(const OpenedFile& file, const Snapshot& shot) {
  fit::PredictOptions options = predict_options(file, shot.knobs);
  options.workers = table_counts(shot.limit, file.workers(shot.knobs.base_strategy()), shot.knobs.workers);
  options.what_if = shot.change;
  return options;
}

ScalingModel::ScalingModel(QObject* parent)
    : QObject(parent),
      moving_(this, &quick_),
      refining_(this, &quick_),
      evaluating_(this, &slow_),
      filling_(this, &slow_) {
  quick_.setMaxThreadCount(2);
  slow_.setMaxThreadCount(1);
  resting_.setSingleShot(true);
  resting_.setInterval(rest_ms);
  connect(&resting_, &QTimer::timeout, this, &ScalingModel::rest);
  for (Job* job : {&moving_, &refining_, &evaluating_, &filling_})
    connect(job, &Job::running_changed, this, [this] { emit busy_changed(busy()); });
}

ScalingModel::~ScalingModel() {
  // Disconnects first, so that no signal is emitted during destruction.
  disconnect(this, nullptr, nullptr, nullptr);
  for (Job* job : {&moving_, &refining_, &evaluating_, &filling_}) {
    disconnect(job, nullptr, this, nullptr);
    job->cancel();
  }
}

void ScalingModel::set_file(std::shared_ptr<const OpenedFile> file) {
  for (Job* job : {&moving_, &refining_, &evaluating_, &filling_}) job->cancel();
  resting_.stop();
  moved_again_ = tables_stale_ = false;
  // The same data with other logs of the links: the question stays.
  const bool same = file && file_ && file->path == file_->path && file->identity == file_->identity;
  file_ = std::move(file);
  simulations_ = file_ && file_->models ? std::make_shared<Simulations>(file_) : nullptr;
  snapshot_ = {};
  levers_.clear();
  levers_of_.reset();
  tables_ = {};
  if (!same) history_.clear();
  if (!same) knobs_ = file_ ? measured_knobs(*file_, first_strategy(*file_)) : Knobs{};
  if (!same) limit_ = std::clamp(next_power(knobs_.workers), least_limit, most_workers);
  emit snapshot_changed();
  emit levers_changed();
  emit tables_changed();
  if (simulations_) move();
}

Knobs ScalingModel::measured() const { return file_ ? measured_knobs(*file_, knobs_.base_strategy()) : Knobs{}; }

void ScalingModel::set_knobs(const Knobs& knobs) {
  if (knobs == knobs_) return;
  // Measured values (batch, buckets) differ between the base strategies.
  const Knobs before = measured(), replaced = knobs_;
  const bool other_base = knobs.base_strategy() != knobs_.base_strategy();
  knobs_ = knobs;
  knobs_.workers = std::clamp<std::int64_t>(knobs_.workers, 1, most_workers);
  if (other_base) {
    const Knobs now = measured();
    for (const KnobId id : {KnobId::bucket_cap, KnobId::batch, KnobId::accumulation})
      if (!differs(knobs_, before, id)) reset(knobs_, now, id);
    // DataParallel does not have these knobs, so reset them.
    if (knobs_.strategy == "dp")
      for (const KnobId id : {KnobId::bucket_cap, KnobId::sixteen_bit, KnobId::overlap}) reset(knobs_, now, id);
  }
  history_.record(replaced, knobs_, std::chrono::steady_clock::now());
  restore(knobs_);
}

void ScalingModel::restore(const Knobs& knobs) {
  knobs_ = knobs;
  if (knobs_.workers > limit_) limit_ = std::min(next_power(knobs_.workers), most_workers);
  if (simulations_) move();
}

bool ScalingModel::undo() {
  const std::optional<Knobs> state = history_.undo(knobs_);
  if (state) restore(*state);
  return state.has_value();
}

bool ScalingModel::redo() {
  const std::optional<Knobs> state = history_.redo(knobs_);
  if (state) restore(*state);
  return state.has_value();
}

void ScalingModel::set_limit(std::int64_t limit) {
  limit = std::clamp<std::int64_t>(next_power(std::max(limit, knobs_.workers)), 8, most_workers);
  if (limit == limit_) return;
  limit_ = limit;
  if (simulations_) move();
}

std::vector<std::int64_t> ScalingModel::tables_workers() const {
  if (!file_) return {};
  return table_counts(limit_, file_->workers(knobs_.base_strategy()), knobs_.workers);
}

std::string ScalingModel::command() const {
  return file_ ? command_line(*file_, knobs_, measured(), tables_workers()) : "";
}

bool ScalingModel::busy() const {
  return moving_.running() || refining_.running() || evaluating_.running() || filling_.running() || resting_.isActive();
}

void ScalingModel::move() {
  refining_.cancel();
  evaluating_.cancel();
  resting_.stop();
  if (moving_.running()) {
    moved_again_ = true;
    return;
  }
  moved_again_ = false;
  const Question question{knobs_, measured(), limit_};
  moving_.start(
      [simulations = simulations_, question](const Cancelled& cancelled) {
        return answer(*simulations, question, Simulations::Clock::now() + first_snapshot, [&] { return cancelled(); });
      },
      [this](Snapshot snapshot) {
        take(std::move(snapshot));
        if (moved_again_)
          move();
        else if (snapshot_.complete)
          resting_.start();
        else
          refine();
      },
      [this](const std::string& why) {
        emit failed(QString::fromStdString(why));
        if (moved_again_) move();
      });
}

void ScalingModel::refine() {
  const Question question{knobs_, measured(), limit_};
  refining_.start(
      [simulations = simulations_, question](const Cancelled& cancelled) {
        return answer(*simulations, question, Simulations::Clock::time_point::max(), [&] { return cancelled(); });
      },
      [this](Snapshot snapshot) {
        take(std::move(snapshot));
        resting_.start();
      },
      [this](const std::string& why) { emit failed(QString::fromStdString(why)); });
}

void ScalingModel::take(Snapshot snapshot) {
  snapshot_ = std::move(snapshot);
  emit snapshot_changed();
}

void ScalingModel::rest() {
  evaluate_levers();
  fill_tables();
}

bool ScalingModel::are_levers_current() const { return levers_of_ == without_changes(knobs_, measured()); }

void ScalingModel::evaluate_levers() {
  if (!snapshot_.refusal.empty()) {
    levers_.clear();
    levers_of_.reset();
    emit levers_changed();
    return;
  }
  // The levers depend only on N, strategy and machine, not on the other knobs.
  if (are_levers_current()) return;
  evaluating_.start(
      [simulations = simulations_, unchanged = without_changes(knobs_, measured())](const Cancelled& cancelled) {
        return std::pair(unchanged, ranked_levers(
                                        unchanged, [&](const Knobs& knobs) { return simulations->predictor(knobs); },
                                        [&] { return cancelled(); }));
      },
      [this](std::pair<Knobs, std::vector<Lever>> ranked) {
        levers_of_ = std::move(ranked.first);
        levers_ = std::move(ranked.second);
        emit levers_changed();
      },
      [this](const std::string& why) { emit failed(QString::fromStdString(why)); });
}

void ScalingModel::fill_tables() {
  // predict_tables cannot be stopped. The next question waits for its end instead of competing for the processor.
  if (filling_.running()) {
    tables_stale_ = true;
    return;
  }
  tables_stale_ = false;
  // Uses the knobs of the snapshot, because its change belongs to these knobs, even if the knobs have changed since.
  filling_.start([file = file_, options = tables_question(*file_, snapshot_)](
                     const Cancelled&) { return predict_tables(*file, options); },
                 [this](PredictTables tables) {
                   tables_ = std::move(tables);
                   emit tables_changed();
                   if (tables_stale_) fill_tables();
                 },
                 [this](const std::string& why) {
                   tables_ = {};
                   tables_.predictions.title = "Predictions";
                   tables_.predictions.empty = why;
                   emit tables_changed();
                   if (tables_stale_) fill_tables();
                 });
}

}  // namespace ddpprof::gui::whatif
