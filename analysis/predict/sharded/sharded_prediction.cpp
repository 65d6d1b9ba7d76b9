#include "analysis/predict/sharded/sharded_prediction.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/predict/prediction_notes.hpp"
#include "analysis/predict/sharded/next_sharded_measurement.hpp"
#include "analysis/predict/sharded/sharded_memory.hpp"
#include "analysis/predict/sharded/sharded_model.hpp"
#include "simulator/stats/interval.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

// Returns the name of the largest of a step's terms: compute, latency, bandwidth or skew.
std::string bound_of(const Terms& terms) {
  const double latency_s =
      terms.communication_s > 0.0 ? terms.exposed_s * terms.latency_s / terms.communication_s : 0.0;
  const std::pair<double, const char*> parts[] = {{terms.compute_s, "compute"},
                                                  {latency_s, "latency"},
                                                  {terms.exposed_s - latency_s, "bandwidth"},
                                                  {terms.skew_s, "skew"}};
  return std::ranges::max_element(parts, {}, [](const auto& part) { return part.first; })->second;
}

Prediction row_of(const ShardedModels& models, std::int64_t workers, const PredictOptions& options) {
  const ShardedRanks* measured = models.measured_at(workers, options);
  const ShardedModel& model = models.model(workers, options);
  Terms terms = model.modelled(workers);
  Prediction row;
  if (measured) {
    const Terms recorded = ShardedModel::recorded(*measured);
    const double latency_share = terms.communication_s > 0.0 ? terms.latency_s / terms.communication_s : 0.0;
    terms = recorded;
    terms.latency_s = latency_share * recorded.communication_s;
    terms.bandwidth_s = recorded.communication_s - terms.latency_s;
    const stats::Interval interval = stats::median_interval(measured->steps_s, options.confidence);
    row.step_low_s = std::min(interval.low, terms.step_s());
    row.step_high_s = std::max(interval.high, terms.step_s());
  } else {
    const stats::Interval interval = sharded_interval(model, workers, options);
    row.step_low_s = interval.low;
    row.step_high_s = interval.high;
    const ShardedRanks& base = *model.base();
    row.note = "forward and backward take the time of N = " + std::to_string(base.workers) +
               ", the optimizer that of a rank's shard";
    if (models.assumes_own_cores(workers, options)) row.note += ", " + std::string(own_cores_note);
    if (base.replicas() > 1)
      row.note += "; shard groups keep their " + std::to_string(base.shards) +
                  " ranks: " + std::to_string(workers / shards_at(base, workers, {})) + " replicas";
  }
  row.strategy = "fsdp";
  row.world_size = workers;
  row.gpus_per_node = options.gpus_per_node;
  row.step_s = terms.step_s();
  row.confidence = options.confidence;
  row.compute_s = terms.compute_s;
  row.communication_s = terms.communication_s;
  row.exposed_s = terms.exposed_s;
  row.latency_s = terms.latency_s;
  row.bandwidth_s = terms.bandwidth_s;
  row.skew_s = terms.skew_s;
  row.other_s = terms.other_s;
  row.throughput =
      static_cast<double>(workers * models.job().batch_per_worker * models.job().accumulation) / row.step_s;
  const ShardedRanks* alone = models.measured_at(1, options);
  row.efficiency = (alone ? stats::median(alone->steps_s) : model.modelled(1).step_s()) / row.step_s;
  row.bound = bound_of(terms);
  row.extrapolation = static_cast<double>(workers) / static_cast<double>(model.base()->workers);
  return row;
}

// The measured or predicted step of `now`, times the modelled ratio of the steps with and without the change.
WhatIfRow change_of(const ShardedModel& model, const Prediction& now, const PredictOptions& options) {
  const std::int64_t workers = now.world_size;
  const WhatIf& change = options.what_if;
  const Terms changed = model.modelled(workers, {}, change);
  const double before_s = model.modelled(workers).step_s();
  std::vector<double> steps_s, ratios;
  for (const ShardedDraw& draw : model.draws(workers, options)) {
    const double drawn_s = model.modelled(workers, draw).step_s(),
                 then_s = model.modelled(workers, draw, change).step_s();
    ratios.push_back(drawn_s / then_s);
    steps_s.push_back(now.step_s * then_s / before_s);
  }
  const double tail = 0.5 * (1.0 - options.confidence);
  WhatIfRow row;
  row.strategy = now.strategy;
  row.workers = workers;
  row.step_s = now.step_s;
  row.changed_step_s = now.step_s * changed.step_s() / before_s;
  const auto [low_s, high_s] = stats::quantiles(steps_s, tail, 1.0 - tail);
  row.changed_low_s = std::min(low_s, row.changed_step_s);
  row.changed_high_s = std::max(high_s, row.changed_step_s);
  row.throughput = now.throughput;
  row.changed_throughput = now.throughput * row.step_s / row.changed_step_s;
  row.speedup = row.step_s / row.changed_step_s;
  const auto [low, high] = stats::quantiles(ratios, tail, 1.0 - tail);
  row.speedup_low = std::min(low, row.speedup);
  row.speedup_high = std::max(high, row.speedup);
  row.bound = now.bound;
  row.changed_bound = bound_of(changed);
  return row;
}

Note note(const char* code, std::string message, std::string advice) {
  return make_note("warning", code, std::move(message), std::move(advice));
}

void add_changes(PredictResult& result, const ShardedModels& models, const PredictOptions& options) {
  std::map<std::string, std::string> refused;  // the worker counts, by reason
  for (const Prediction& now : result.predictions) {
    const ShardedModel& model = models.model(now.world_size, options);
    const std::string never = model.change_refusal(options.what_if);
    const std::string reason = never.empty() ? model.change_refusal_at(now.world_size, options.what_if) : never;
    if (reason.empty()) {
      result.what_ifs.push_back(change_of(model, now, options));
      result.memory.push_back(sharded_memory(models.job(), *model.base(), now.world_size, options.what_if));
    } else {
      std::string& listed = refused[reason];
      listed += (listed.empty() ? "" : ", ") + std::to_string(now.world_size);
    }
  }
  for (const auto& [reason, listed] : refused)
    result.notes.push_back(note("what_if_none", "the change is not applied to fsdp at N = " + listed + ": " + reason,
                                "docs/guide/sharded-jobs.md lists the changes of sharded trainings; otherwise measure "
                                "the training with the change"));
}

// Measurements that are not used, by reason.
void add_left_out(const ShardedJob& job, std::vector<Note>& notes) {
  std::map<std::string, std::string> listed;
  for (const auto& [measurement, reason] : job.left_out) {
    std::string& ids = listed[reason];
    ids += (ids.empty() ? "" : ", ") + std::to_string(measurement);
  }
  for (const auto& [reason, ids] : listed) {
    const bool one = ids.find(',') == std::string::npos;
    notes.push_back(note(job.measured.empty() ? "prediction_none" : "measurement_left_out",
                         (one ? "measurement " + ids + " is" : "measurements " + ids + " are") +
                             " not used to predict fsdp: " + reason,
                         job.measured.empty() ? "the units are reported: ddpprof report FILE.db --report sharding"
                                              : "predict each job from a database of its own"));
  }
}

// Measured N whose ranks have other threads than those from which other N are predicted.
void add_other_threads(const ShardedJob& job, std::vector<Note>& notes) {
  for (const ShardedRanks& ranks : job.measured)
    if (!job.has_threads(ranks.threads))
      notes.push_back(note(
          "threads_of_one_n",
          "fsdp: N = " + std::to_string(ranks.workers) + " has " + std::to_string(ranks.threads) +
              " threads per rank, predictions " + std::to_string(job.threads_per_rank) +
              ": the efficiency depends on the threads, too",
          "set OMP_NUM_THREADS for all N and measure again to compare equal ranks"));
}

// The runs of nccl-tests that replace the fitted links.
void add_runs_apart(const std::vector<CollectiveRun>& runs, std::vector<Note>& notes) {
  std::set<std::string> ops;
  for (const CollectiveRun& run : runs) ops.insert(run.op);
  for (const std::string& op : ops)
    for (const std::string& text : CollectiveSeries(op, runs).warnings())
      notes.push_back(note("log_runs_apart", "fsdp: " + text, "give the run with the settings of the job alone"));
}

// A link between nodes that was named. The cost of all-gathers and reduce-scatters on it cannot be derived from its
// rate.
Note unused_link(const ShardedModels& models, const PredictOptions& options) {
  std::string reason = "all-gathers and reduce-scatters between hosts are predicted from measurements or logs alone",
              advice = give_shard_logs;
  const auto inside = [&](std::int64_t workers) { return models.hosts(workers, options) == 1; };
  if (std::ranges::all_of(options.workers, inside)) {
    reason = "all ranks of the requested N are on one node";
    advice = "for several nodes give --gpus-per-node";
  } else if (models.between_known()) {
    reason = "the links between nodes were measured, or a log has them";
    advice = "leave --inter-node out";
  }
  return make_note(
      "info", "links_not_measured",
      "fsdp: the link between nodes that was named (" + options.inter_node.name + ") is not used: " + reason, advice);
}

// What to measure next: the links of the largest N that was asked about, if they were not measured, else the
// measurement that narrows the interval of the furthest prediction most.
void add_next(PredictResult& result, SQLite::Database& sql, const ShardedModels& models,
              const PredictOptions& options) {
  const std::int64_t furthest = *std::ranges::max_element(options.workers);
  if (models.links_missing(furthest, options)) {
    const bool between = models.hosts(furthest, options) > 1;
    result.notes.push_back(make_note(
        "info", "measure_next",
        "fsdp at N = " + std::to_string(furthest) + ": measuring " +
            (between ? "two hosts would make its prediction possible: collectives between hosts were not measured"
                     : "one host would make its prediction possible: collectives inside of a host were not measured"),
        std::string("run the job on ") + (between ? "two hosts" : "one host") +
            ", with record --append or import --append; or " + give_shard_logs));
    return;
  }
  if (result.predictions.empty()) return;
  const std::int64_t predicted = result.predictions.back().world_size;
  const auto next = next_sharded_measurement(sql, models, predicted, options);
  if (!next) return;
  result.next["fsdp"] = *next;
  const bool own_cores = !next->bench_comm && models.assumes_own_cores(next->workers, options);
  result.notes.push_back(next_measurement_note(*next, "fsdp", predicted, options.confidence, true,
                                               own_cores ? own_cores_note : std::string_view()));
}

}  // namespace

PredictResult predict_sharded(SQLite::Database& sql, const PredictOptions& options) {
  PredictResult result;
  ShardedJob job = sharded_job(sql);
  add_left_out(job, result.notes);
  if (job.measured.empty()) return result;
  const ShardedModels models(sql, std::move(job), options);
  std::map<std::string, std::string> refused;  // the worker counts, by reason
  std::set<std::string> uncertain;
  std::string own_cores;  // the worker counts
  for (const std::int64_t workers : std::set<std::int64_t>(options.workers.begin(), options.workers.end())) {
    const std::string reason = models.refusal(workers, options);
    if (reason.empty()) {
      if (models.assumes_own_cores(workers, options))
        own_cores += (own_cores.empty() ? "" : ", ") + std::to_string(workers);
      result.predictions.push_back(row_of(models, workers, options));
      result.memory.push_back(sharded_memory(models.job(), *models.model(workers, options).base(), workers, {}));
      if (!models.measured_at(workers, options)) uncertain.insert(models.model(workers, options).uncertainty());
    } else {
      std::string& listed = refused[reason];
      listed += (listed.empty() ? "" : ", ") + std::to_string(workers);
    }
  }
  for (const auto& [reason, listed] : refused)
    result.notes.push_back(note("prediction_none", "fsdp at N = " + listed + " is not predicted: " + reason,
                                "record this training with 2 or more ranks on the predicted machines"));
  add_other_threads(models.job(), result.notes);
  if (!own_cores.empty())
    result.notes.push_back(note("own_cores_assumed",
                                "fsdp at N = " + own_cores + " is predicted " + std::string(own_cores_note) +
                                    ": the ranks need more cores than the " + std::to_string(models.job().cores) +
                                    " of a host, and how sharded ranks share cores is not modelled",
                                "measure these N if their ranks will share cores"));
  for (const std::string& text : uncertain)
    if (!text.empty())
      result.notes.push_back(
          note("prediction_uncertain", "fsdp: " + text, "measure this training at a further number of ranks"));
  if (!result.predictions.empty()) add_runs_apart(options.shard_collectives, result.notes);
  if (options.what_if.any()) add_changes(result, models, options);
  if (options.inter_node.named()) result.notes.push_back(unused_link(models, options));
  add_next(result, sql, models, options);
  return result;
}

std::vector<RankedChange> ranked_sharded_changes(SQLite::Database& sql, const PredictOptions& options,
                                                 std::int64_t workers) {
  constexpr std::pair<const char*, bool> usual[] = {
      {"reshard_after_forward=off", true}, {"replicate=2", true},    {"strategy=ddp", true}, {"precision=bf16", true},
      {"bandwidth=2x", false},             {"latency=0.5x", false}, {"compute=2x", false}};
  ShardedJob job = sharded_job(sql);
  if (job.measured.empty()) return {};
  const ShardedModels models(sql, std::move(job), options);
  if (!models.refusal(workers, options).empty()) return {};
  const Prediction now = row_of(models, workers, options);
  const ShardedModel& model = models.model(workers, options);
  std::vector<RankedChange> ranked;
  for (const auto& [change, setting] : usual) {
    PredictOptions asked = options;
    asked.what_if = parse_what_if(std::vector<std::string>{change});
    if (!model.change_refusal(asked.what_if).empty() || !model.change_refusal_at(workers, asked.what_if).empty())
      continue;
    ranked.push_back({change, setting, change_of(model, now, asked)});
  }
  sort_by_gain(ranked);
  return ranked;
}

}  // namespace ddpprof::fit
