#include "analysis/predict/sharded/next_sharded_measurement.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

void scale(std::vector<double>& values, double factor) {
  for (double& value : values) value *= factor;
}

double ratio_of(double after, double before) { return before > 0.0 ? after / before : 1.0; }

// Changes the collectives of a unit to the time that one call is predicted to take. The measured times keep their
// differences to the fit.
void plan_calls(UnitCollectives& calls, double ratio) {
  calls.duration_s = transfer_s(calls) * ratio;
  calls.skew_s = 0.0;
}

// Returns the planned all-gathers or reduce-scatters: the median of the units with equal bytes.
std::vector<UnitCollectiveTime> planned_calls(const ShardedRanks& ranks, UnitCollectives UnitTimes::*kind,
                                              std::int64_t UnitTimes::*bytes) {
  std::map<std::int64_t, std::vector<double>> by_bytes;
  for (const UnitTimes& unit : ranks.units)
    if ((unit.*kind).calls > 0.0 && unit.*bytes > 0)
      by_bytes[unit.*bytes].push_back((unit.*kind).duration_s / (unit.*kind).calls);
  std::vector<UnitCollectiveTime> all;
  for (const auto& [size, seconds] : by_bytes)
    all.push_back({ranks.shards, static_cast<double>(size), stats::median(seconds)});
  return all;
}

// Returns the measurement of N ranks that agrees with the prediction. Its steps scatter as those of the base.
ShardedRanks planned_ranks(const ShardedModels& models, std::int64_t workers, const PredictOptions& options) {
  const ShardedModel& model = models.model(workers, options);
  const ShardedRanks& base = *model.base();
  const Terms before = ShardedModel::recorded(base), after = model.modelled(workers);
  ShardedRanks ranks = base;
  ranks.workers = workers;
  ranks.nodes = models.hosts(workers, options);
  ranks.shards = shards_at(base, workers, {});
  ranks.measurements.clear();
  scale(ranks.steps_s, ratio_of(after.step_s(), before.step_s()));
  scale(ranks.compute_s, ratio_of(after.compute_s, before.compute_s));
  // Only the optimizer's part of compute depends on N.
  const double optimizer_s = stats::median(base.optimizer_s);
  scale(ranks.optimizer_s, ratio_of(optimizer_s + after.compute_s - before.compute_s, optimizer_s));
  // If the base does not separate transfer from waiting, the planned measurement does not either.
  const bool separated = before.exposed_s > 0.0 || !(stats::median(base.exposed_s) > 0.0);
  const double exposed_s = after.exposed_s + after.skew_s;
  ranks.exposed_s.assign(base.exposed_s.size(), exposed_s);
  ranks.skew_s.assign(base.skew_s.size(), separated ? after.skew_s : exposed_s);
  const std::vector<strategy::ShardedUnit> measured = model.simulated(base.workers).units,
                                           planned = model.simulated(workers).units;
  for (std::size_t i = 0; i < ranks.units.size(); ++i) {
    UnitTimes& unit = ranks.units[i];
    if (unit.ranks) unit.ranks = ranks.shards;
    if (workers == 1) {
      unit.gathers = unit.scatters = {};
      continue;
    }
    plan_calls(unit.gathers, ratio_of(planned[i].gather_s, measured[i].gather_s));
    plan_calls(unit.scatters, ratio_of(planned[i].scatter_s, measured[i].scatter_s));
  }
  ranks.planned["all_gather"] = planned_calls(ranks, &UnitTimes::gathers, &UnitTimes::gathered_bytes);
  ranks.planned["reduce_scatter"] = planned_calls(ranks, &UnitTimes::scatters, &UnitTimes::scattered_bytes);
  return ranks;
}

// Returns half of the interval's width as a share of the step.
double half_width(const ShardedModels& models, std::int64_t workers, const PredictOptions& options) {
  const stats::Interval interval = sharded_interval(models.model(workers, options), workers, options);
  return interval.relative_half_width();
}

// Returns the logs that nccl-tests would write with the fitted costs of the base's groups; empty if the base does not
// have these costs.
std::vector<CollectiveRun> planned_logs(const ShardedModel& model) {
  constexpr double least_bytes = 1 << 10, most_bytes = 1 << 30;
  const ShardedRanks& base = *model.base();
  if (std::ranges::any_of(base.units, &UnitTimes::scatters_by_all_reduce)) return {};
  std::vector<CollectiveRun> runs;
  for (const auto& [op, cost] :
       {std::pair{"all_gather", model.gather_cost()}, {"reduce_scatter", model.scatter_cost()}}) {
    CollectiveRun run{op, base.shards, base.nodes, {}};
    if (!(cost.seconds(base.shards, least_bytes) > 0.0)) return {};
    for (double bytes = least_bytes; bytes <= most_bytes; bytes *= 4.0)
      run.times.push_back({bytes, cost.seconds(base.shards, bytes)});
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

stats::Interval sharded_interval(const ShardedModel& model, std::int64_t workers, const PredictOptions& options) {
  std::vector<double> steps;
  for (const ShardedDraw& draw : model.draws(workers, options)) steps.push_back(model.modelled(workers, draw).step_s());
  const double tail = 0.5 * (1.0 - options.confidence), step_s = model.modelled(workers).step_s();
  const auto [low, high] = stats::quantiles(steps, tail, 1.0 - tail);
  return {std::min(low, step_s), step_s, std::max(high, step_s), options.confidence};
}

std::optional<NextMeasurement> next_sharded_measurement(SQLite::Database& sql, const ShardedModels& models,
                                                        std::int64_t workers, const PredictOptions& options) {
  const ShardedJob& job = models.job();
  if (models.measured_at(workers, options) || !models.refusal(workers, options).empty()) return std::nullopt;
  const ShardedModel& model = models.model(workers, options);
  if (model.base()->replicas() > 1) return std::nullopt;
  const double now = half_width(models, workers, options);
  std::vector<NextMeasurement> candidates;  // cheapest first
  if (job.device == "cuda" && options.shard_collectives.empty()) {
    PredictOptions logged = options;
    logged.shard_collectives = planned_logs(model);
    if (!logged.shard_collectives.empty())
      candidates.push_back(
          {model.base()->workers, true, now, half_width(ShardedModels(sql, job, logged), workers, logged)});
  }
  constexpr std::int64_t furthest = 8;  // the largest N considered, as a multiple of the largest measured N
  for (std::int64_t at = 1; at < workers && at <= furthest * job.measured.back().workers; at *= 2) {
    if (models.measured_at(at, options) || !models.refusal(at, options).empty()) continue;
    ShardedJob measured = job;
    measured.measured.push_back(planned_ranks(models, at, options));
    std::ranges::stable_sort(measured.measured, {}, &ShardedRanks::workers);
    candidates.push_back(
        {at, false, now, half_width(ShardedModels(sql, std::move(measured), options), workers, options)});
  }
  return best_measurement(candidates);
}

}  // namespace ddpprof::fit
