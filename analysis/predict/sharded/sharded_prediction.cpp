#include "analysis/predict/sharded/sharded_prediction.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/fit/sharded/ring_fit.hpp"
#include "analysis/fit/sharded/sharded_job.hpp"
#include "analysis/predict/step_model/terms.hpp"
#include "simulator/stats/interval.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/strategy/sharded_step.hpp"

namespace ddpprof::fit {
namespace {

constexpr double growth_error = 0.08;  // of the collectives' cost for each doubling of N beyond the data
constexpr double least_collective_error = 0.03;
constexpr double wait_spread = 0.5;  // of the logarithm of the wait for the slowest rank

// What is not known exactly. The defaults are the best estimate.
struct ShardedDraw {
  double level = 1.0;                    // of compute
  double gathers = 1.0, scatters = 1.0;  // of the collectives' cost
  double wait = 1.0;
  std::optional<double> optimizer_fixed;  // the part of the optimizer that does not shrink with the shard
};

class ShardedModel {
 public:
  ShardedModel(SQLite::Database& sql, ShardedJob job) : job_(std::move(job)), base_(base_of(job_)) {
    gather_ = fit_ring(unit_collectives(sql, job_, "all_gather"));
    scatter_ = fit_ring(unit_collectives(sql, job_, "reduce_scatter"));
    const Terms measured = recorded(base_);
    const strategy::ShardedOutcome simulated = simulated_step(base_.workers, {});
    if (simulated.exposed_s() > 0.0) exposed_factor_ = measured.exposed_s / simulated.exposed_s();
    optimizer_fixed_ = fixed_part_of_optimizer();
  }

  const ShardedJob& job() const { return job_; }
  std::int64_t base() const { return base_.workers; }

  // Empty if N can be predicted.
  std::string refusal(std::int64_t workers, const PredictOptions& options) const {
    if (measured_at(workers)) return "";
    if (base_.workers < 2)
      return "no measurement with 2 or more ranks has the cost of its all-gathers and reduce-scatters";
    for (const UnitTimes& unit : base_.units)
      if (unit.replicas.calls > 0) return "replicas of shards (HSDP) are reported, not predicted";
    const std::int64_t per_host = ranks_per_host(workers, options);
    if (job_.device == "cpu" && !options.dedicated && workers > base_.workers &&
        per_host * job_.threads_per_rank > job_.cores)
      return "its ranks need more cores than the " + std::to_string(job_.cores) +
             " of a host, and how sharded ranks share cores is not modelled (if each rank has its own cores: --sharing "
             "dedicated)";
    if (base_.nodes == 1 && workers > per_host) return "collectives between hosts were not measured";
    return "";
  }

  const ShardedRanks* measured_at(std::int64_t workers) const {
    const auto found =
        std::ranges::find_if(job_.measured, [&](const ShardedRanks& ranks) { return ranks.workers == workers; });
    return found == job_.measured.end() ? nullptr : &*found;
  }

  // The measured median step, split by the medians of its parts.
  static Terms recorded(const ShardedRanks& ranks) {
    Terms terms;
    terms.skew_s = stats::median(ranks.skew_s);
    terms.exposed_s = std::max(0.0, stats::median(ranks.exposed_s) - terms.skew_s);
    for (const UnitTimes& unit : ranks.units) {
      terms.compute_s += unit.forward_s + unit.backward_s + unit.copy_s;
      terms.communication_s += std::max(0.0, unit.gathers.duration_s - unit.gathers.skew_s) +
                               std::max(0.0, unit.scatters.duration_s - unit.scatters.skew_s);
    }
    terms.compute_s += stats::median(ranks.optimizer_s);
    terms.other_s = stats::median(ranks.steps_s) - terms.compute_s - terms.exposed_s - terms.skew_s;
    // The medians of parts may exceed the median of the whole a little.
    if (terms.other_s < 0.0) {
      terms.compute_s += terms.other_s;
      terms.other_s = 0.0;
    }
    return terms;
  }

  Terms modelled(std::int64_t workers, const ShardedDraw& draw) const {
    const Terms measured = recorded(base_);
    const double optimizer_s = stats::median(base_.optimizer_s);
    const double fixed = draw.optimizer_fixed.value_or(optimizer_fixed_.value_or(0.5));
    const double shrunk = static_cast<double>(base_.workers) / static_cast<double>(workers);
    const strategy::ShardedOutcome simulated = simulated_step(workers, draw);
    Terms terms;
    terms.compute_s = draw.level * (measured.compute_s - optimizer_s + optimizer_s * (fixed + (1.0 - fixed) * shrunk));
    terms.other_s = draw.level * measured.other_s;
    terms.communication_s = simulated.communication_s;
    terms.exposed_s = exposed_factor_ * simulated.exposed_s();
    terms.latency_s = latency_s(workers, draw);
    terms.bandwidth_s = std::max(0.0, terms.communication_s - terms.latency_s);
    if (base_.workers > 1)
      terms.skew_s =
          draw.wait * measured.skew_s * stats::blom_expected_max(workers) / stats::blom_expected_max(base_.workers);
    return terms;
  }

  std::vector<ShardedDraw> draws(std::int64_t workers, const PredictOptions& options) const {
    stats::Random random(options.seed);
    const stats::Interval level = stats::median_interval(base_.steps_s, 0.9);
    const double level_sd = level.mid > 0.0 ? level.relative_half_width() / stats::normal_quantile(0.95) : 0.0;
    const double doublings = std::abs(std::log2(static_cast<double>(workers) / static_cast<double>(base_.workers)));
    const auto collective = [&](const RingCost& cost) {
      return std::exp(random.normal() *
                      std::hypot(std::max(cost.error, least_collective_error), growth_error * doublings));
    };
    std::vector<ShardedDraw> all(static_cast<std::size_t>(options.draws));
    for (ShardedDraw& draw : all) {
      draw.level = std::exp(level_sd * random.normal());
      draw.gathers = collective(gather_);
      draw.scatters = collective(scatter_);
      draw.wait = std::exp(wait_spread * random.normal());
      const double fixed = random.uniform();
      if (!optimizer_fixed_) draw.optimizer_fixed = fixed;
    }
    return all;
  }

 private:
  // The largest N of which each rank had cores of its own, because sharing of cores is not modelled.
  static const ShardedRanks& base_of(const ShardedJob& job) {
    for (auto ranks = job.measured.rbegin(); ranks != job.measured.rend(); ++ranks)
      if (job.device != "cpu" || ((ranks->workers - 1) / ranks->nodes + 1) * job.threads_per_rank <= job.cores)
        return *ranks;
    return job.measured.front();
  }

  std::int64_t ranks_per_host(std::int64_t workers, const PredictOptions& options) const {
    if (options.gpus_per_node > 0) return std::min(workers, options.gpus_per_node);
    if (base_.nodes > 1) return (base_.workers - 1) / base_.nodes + 1;
    if (job_.device == "cpu") return workers;
    return std::min(workers, std::max(base_.workers, usual_gpus_per_node));
  }

  strategy::ShardedOutcome simulated_step(std::int64_t workers, const ShardedDraw& draw) const {
    strategy::ShardedStep step;
    step.micro_batches = job_.accumulation;
    step.waits = job_.device == "cpu";
    const auto micro_batches = static_cast<double>(job_.accumulation);
    for (const UnitTimes& unit : base_.units) {
      strategy::ShardedUnit one;
      one.forward_s = (unit.forward_s + 0.5 * unit.copy_s) / micro_batches;
      one.backward_s = (unit.backward_s + 0.5 * unit.copy_s) / micro_batches;
      one.gather_s = draw.gathers * gather_.seconds(workers, static_cast<double>(unit.gathered_bytes));
      one.scatter_s = draw.scatters * scatter_.seconds(workers, static_cast<double>(unit.scattered_bytes));
      if (unit.gathered_bytes == 0) one.gather_s = 0.0;
      if (unit.scattered_bytes == 0) one.scatter_s = 0.0;
      one.gathers_again = unit.gathers_again.value_or(false);
      step.units.push_back(one);
    }
    return simulate(step);
  }

  double latency_s(std::int64_t workers, const ShardedDraw& draw) const {
    double sum_s = 0.0;
    for (const UnitTimes& unit : base_.units)
      sum_s += unit.gathers.calls * draw.gathers * gather_.seconds(workers, 0.0) +
               unit.scatters.calls * draw.scatters * scatter_.seconds(workers, 0.0);
    return sum_s;
  }

  // From the smallest and the largest measured N: fixed + (1 - fixed) / N. None if only one N was measured.
  std::optional<double> fixed_part_of_optimizer() const {
    const ShardedRanks& small = job_.measured.front();
    const double large_s = stats::median(base_.optimizer_s);
    if (small.workers == base_.workers || !(large_s > 0.0)) return std::nullopt;
    const double shrunk = static_cast<double>(base_.workers) / static_cast<double>(small.workers);
    return std::clamp((shrunk - stats::median(small.optimizer_s) / large_s) / (shrunk - 1.0), 0.0, 1.0);
  }

  ShardedJob job_;
  const ShardedRanks& base_;
  RingCost gather_, scatter_;
  double exposed_factor_ = 1.0;  // measured / simulated exposed time of the base
  std::optional<double> optimizer_fixed_;
};

std::string bound_of(const Terms& terms) {
  const double latency_s =
      terms.communication_s > 0.0 ? terms.exposed_s * terms.latency_s / terms.communication_s : 0.0;
  const std::pair<double, const char*> parts[] = {{terms.compute_s, "compute"},
                                                  {latency_s, "latency"},
                                                  {terms.exposed_s - latency_s, "bandwidth"},
                                                  {terms.skew_s, "skew"}};
  return std::ranges::max_element(parts, {}, [](const auto& part) { return part.first; })->second;
}

Prediction row_of(const ShardedModel& model, std::int64_t workers, const PredictOptions& options) {
  const ShardedRanks* measured = model.measured_at(workers);
  Terms terms = model.modelled(workers, {});
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
    std::vector<double> steps;
    for (const ShardedDraw& draw : model.draws(workers, options))
      steps.push_back(model.modelled(workers, draw).step_s());
    const double tail = 0.5 * (1.0 - options.confidence);
    const auto [low, high] = stats::quantiles(steps, tail, 1.0 - tail);
    row.step_low_s = std::min(low, terms.step_s());
    row.step_high_s = std::max(high, terms.step_s());
    row.note = "each rank has the compute time of N = " + std::to_string(model.base());
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
  row.throughput = static_cast<double>(workers * model.job().batch_per_worker * model.job().accumulation) / row.step_s;
  const ShardedRanks* alone = model.measured_at(1);
  row.efficiency = (alone ? stats::median(alone->steps_s) : model.modelled(1, {}).step_s()) / row.step_s;
  row.bound = bound_of(terms);
  row.extrapolation = static_cast<double>(workers) / static_cast<double>(model.base());
  return row;
}

Note note(std::string code, std::string message, std::string advice) {
  Note one;
  one.severity = "warning";
  one.code = std::move(code);
  one.message = std::move(message);
  one.advice = std::move(advice);
  return one;
}

}  // namespace

PredictResult predict_sharded(SQLite::Database& sql, const PredictOptions& options) {
  PredictResult result;
  ShardedJob job = sharded_job(sql);
  if (job.measured.empty()) return result;
  const ShardedModel model(sql, std::move(job));
  std::map<std::string, std::string> refused;  // the worker counts, by reason
  for (const std::int64_t workers : std::set<std::int64_t>(options.workers.begin(), options.workers.end())) {
    const std::string reason = model.refusal(workers, options);
    if (reason.empty()) {
      result.predictions.push_back(row_of(model, workers, options));
    } else {
      std::string& listed = refused[reason];
      listed += (listed.empty() ? "" : ", ") + std::to_string(workers);
    }
  }
  for (const auto& [reason, listed] : refused)
    result.notes.push_back(note("prediction_none", "fsdp at N = " + listed + " is not predicted: " + reason,
                                "record this training with 2 or more ranks on the machines that you ask about"));
  if (options.what_if.any() && !result.predictions.empty())
    result.notes.push_back(note("what_if_none",
                                "the change is not applied to fsdp: changes of sharded trainings are "
                                "not modelled",
                                "measure the training with the change"));
  return result;
}

}  // namespace ddpprof::fit
