#include "analysis/predict/sharded/sharded_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/fit/compute_fit.hpp"
#include "analysis/fit/text.hpp"
#include "simulator/stats/interval.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double growth_error = 0.08;  // of the collectives' cost for each doubling of N beyond the data
constexpr double least_collective_error = 0.03;
constexpr double wait_spread = 0.5;            // of the logarithm of the wait for the slowest rank
constexpr double extra_error = 0.5;            // of the difference between measured and simulated exposed time
constexpr double calls_error = 0.1;            // up to this part, the measured calls of a step may differ
constexpr double changed_exposed_error = 0.1;  // of the logarithm of exposed communication under a change
constexpr double largest_other_bytes = 0.01;   // of a step's bytes that may be those of no unit

double seconds(const RingCost& cost, std::int64_t workers, double bytes, const WhatIf& change) {
  const double latency_s = cost.seconds(workers, 0.0);
  return latency_s * change.latency.factor + (cost.seconds(workers, bytes) - latency_s) / change.bandwidth.factor;
}

bool differs(double calls, double modelled) { return std::abs(calls - modelled) > calls_error * modelled; }

std::string listed(std::initializer_list<std::pair<bool, const char*>> keys) {
  std::string text;
  for (const auto& [given, name] : keys)
    if (given) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace

std::int64_t shards_at(const ShardedRanks& base, std::int64_t workers, const WhatIf& change) {
  if (change.strategy == "ddp") return 1;
  if (change.replicas > 1) return workers / change.replicas;
  return base.replicas() > 1 ? std::min(base.shards, workers) : workers;
}

ShardedModel::ShardedModel(SQLite::Database& sql, const ShardedJob& job, bool between_hosts, const ShardedLogs& logs,
                           const ShardedModel* other)
    : job_(job), logs_(logs) {
  for (const ShardedRanks& ranks : job.measured) {
    if (ranks.workers > 1 && (ranks.nodes > 1) != between_hosts) continue;
    if (!job.has_threads(ranks.threads)) {
      base_ = &ranks;  // of the measured N alone, if there are no others
      continue;
    }
    measured_.push_back(&ranks);
    links_measured_ = links_measured_ || ranks.workers > 1;
  }
  if (!links_measured_ && logs_.gathers && logs_.scatters) {
    measured_.clear();
    for (const ShardedRanks& ranks : job.measured)
      if (job.has_threads(ranks.threads)) measured_.push_back(&ranks);
  }
  if (measured_.empty()) return;
  // The ranks of the base have cores of their own, because sharing of cores is not modelled.
  std::vector<const ShardedRanks*> usable = measured_;
  std::erase_if(usable, [](const ShardedRanks* ranks) { return ranks->shares_cores; });
  const std::vector<const ShardedRanks*>& fitted = usable.empty() ? measured_ : usable;
  base_ = fitted.back();
  optimizer_fixed_ = fixed_part_of_optimizer();
  if (!links_measured_) {
    if (other && other->links_measured_) {
      extra_exposed_share_ = other->extra_exposed_share_;
      exposed_separated_ = other->exposed_separated_;
    }
    return;
  }
  const auto ring = [&](const char* op, UnitCollectives UnitTimes::*kind, std::int64_t group) {
    return fitted_ring(unit_collectives(sql, fitted, op), *base_, kind, group, job_.device == "cuda");
  };
  gather_ = ring("all_gather", &UnitTimes::gathers, base_->shards);
  scatter_ = ring("reduce_scatter", &UnitTimes::scatters, base_->shards);
  if (base_->replicas() > 1) replicas_ = ring("all_reduce", &UnitTimes::replicas, base_->replicas());
  set_link();
  compare_with_logs();
  const Terms measured = recorded(*base_);
  const strategy::ShardedOutcome simulated = strategy::simulate(step_at(base_->workers, {}, {}));
  exposed_separated_ = measured.exposed_s > 0.0 || !(stats::median(base_->exposed_s) > 0.0);
  if (exposed_separated_ && simulated.communication_s > 0.0)
    extra_exposed_share_ = (measured.exposed_s - simulated.exposed_s()) / simulated.communication_s;
}

// The base's calls beside compute may take another time than the same calls in the logs.
void ShardedModel::compare_with_logs() {
  const RankGroup group{base_->shards, 1};
  const auto compare = [&](std::optional<LoggedCollective>& log, UnitCollectives UnitTimes::*kind) {
    if (!log || !log->covers(group)) return;
    double logged_s = 0.0, measured_s = 0.0;
    for (const UnitTimes& unit : base_->units) {
      const UnitCollectives& calls = unit.*kind;
      if (!(calls.calls > 0.0 && calls.bytes > 0)) continue;
      logged_s += calls.calls * log->seconds(group, static_cast<double>(calls.bytes) / calls.calls, {});
      measured_s += transfer_s(calls);
    }
    if (logged_s > 0.0 && measured_s > 0.0) log->set_factor(measured_s / logged_s);
  };
  compare(logs_.gathers, &UnitTimes::gathers);
  // A reduce-scatter that the backend executes as an all-reduce is not that of the log.
  if (std::ranges::none_of(base_->units, [](const UnitTimes& unit) { return unit.scatters_by_all_reduce; }))
    compare(logs_.scatters, &UnitTimes::scatters);
}

std::string ShardedModel::refusal() const {
  if (base_->shares_cores) return "all measured ranks shared cores, and how sharded ranks share cores is not modelled";
  if (base_->replicas() == 1 &&
      std::ranges::any_of(base_->units, [](const UnitTimes& unit) { return unit.replicas.calls > 0; }))
    return "shards have replicas (HSDP), and the size of the shard groups was not recorded, or differs between units";
  for (const UnitTimes& unit : base_->units) {
    const std::string name = unit.root ? "the root" : "unit " + unit.name;
    if (unit.replicas.calls > 0 && unit.replicas.bytes == 0)
      return "sizes of collectives were not recorded: profile with record_shapes=True";
    if (base_->replicas() > 1 && differs(unit.replicas.calls, unit.scatters.calls))
      return name + " does not reduce over the replicas once per reduce-scatter";
    if (unit.ranks && *unit.ranks != base_->shards)
      return name + " is sharded over " + std::to_string(*unit.ranks) + " of " + std::to_string(base_->workers) +
             " ranks: FSDP beside another kind of parallelism is reported, not predicted";
    if ((unit.gathers.calls > 0 && unit.gathered_bytes == 0) || (unit.scatters.calls > 0 && unit.scattered_bytes == 0))
      return "sizes of collectives were not recorded: profile with record_shapes=True";
    const auto micro_batches = static_cast<double>(job_.accumulation);
    const bool again = unit.gathers_again.value_or(false);
    if (differs(unit.gathers.calls, unit.gathered_bytes > 0 ? micro_batches * (again ? 2.0 : 1.0) : 0.0) ||
        differs(unit.scatters.calls,
                unit.scattered_bytes > 0 ? (scatters_in_each_micro_batch() ? micro_batches : 1.0) : 0.0))
      return "the number of collectives of " + name +
             " in a step is not that of one all-gather per forward, at most one per backward, and one "
             "reduce-scatter per step or per backward";
  }
  if (base_->other_bytes > largest_other_bytes * base_->unit_bytes)
    return "its ranks also exchange data that belongs to no unit, as tensor, pipeline or expert parallel layers do "
           "(--report collectives lists the groups): how that grows with N is not modelled";
  return "";
}

std::string ShardedModel::refusal_at(std::int64_t workers) const {
  const std::int64_t shards = shards_at(*base_, workers, {});
  if (workers % shards != 0)
    return std::to_string(workers) + " ranks are not a multiple of the " + std::to_string(shards) +
           " ranks of a shard group";
  return refusal_of_links(workers, {});
}

// Without measured links the logs must have those of all groups.
std::string ShardedModel::refusal_of_links(std::int64_t workers, const WhatIf& change) const {
  if (links_measured_) return "";
  const std::int64_t shards = change.strategy == "ddp" ? workers : shards_at(*base_, workers, change);
  for (const RankGroup& group : {RankGroup{shards, 1}, RankGroup{workers / shards, shards}})
    for (const std::optional<LoggedCollective>* log : {&logs_.gathers, &logs_.scatters})
      if (const std::string reason = (*log)->refusal(group); !reason.empty()) return reason;
  return "";
}

std::string ShardedModel::uncertainty() const {
  std::string text;
  constexpr double usual_factor = 1.5;
  for (const auto& [log, name] : {std::pair{&logs_.gathers, "all-gathers"}, {&logs_.scatters, "reduce-scatters"}})
    if (const double factor = *log ? (*log)->factor().value_or(1.0) : 1.0;
        factor > usual_factor || factor < 1.0 / usual_factor) {
      const auto tenths = std::llround(10.0 * factor);
      text += std::string(text.empty() ? "" : "; ") + "the job's " + name + " take " + std::to_string(tenths / 10) +
              "." + std::to_string(tenths % 10) + " times as long as in the log, which may be of other machines";
    }
  if (!text.empty()) return text;
  if ((!logs_.gathers && !gather_.cost.separated) || (!logs_.scatters && !scatter_.cost.separated) ||
      !replicas_.cost.separated)
    text = "the measured sizes do not separate latency and bandwidth of the collectives: a tenth of the shortest one is "
           "taken as latency, and the interval covers 0 to about three quarters of it";
  if (!exposed_separated_)
    text += std::string(text.empty() ? "" : "; ") +
            "exposed communication is not separated from the wait for slower ranks, so the interval covers 0 to "
            "the simulated exposed time";
  if (optimizer_uncertain())
    text += std::string(text.empty() ? "" : "; ") +
            "the measurements do not show how much of the optimizer's time shrinks with a rank's shard: the interval "
            "covers " +
            percent(1.0 - optimizer_fixed_.second) + " to " + percent(1.0 - optimizer_fixed_.first);
  return text;
}

std::string ShardedModel::change_refusal(const WhatIf& change) const {
  const std::string other = listed({{change.bucket_cap_mb.has_value(), "bucket_cap_mb"},
                                    {change.gradient_bytes != 1.0, "compression"},
                                    {change.accumulation.has_value(), "accumulation"},
                                    {change.batch_per_worker.has_value(), "batch_per_worker"},
                                    {change.host_speed != 1.0, "host"},
                                    {!change.overlap, "overlap"},
                                    {change.bandwidth.value || change.latency.value, "absolute values of links"},
                                    {!change.strategy.empty() && change.strategy != "ddp", "this strategy"}});
  if (!other.empty()) return "not modelled for a sharded training: " + other;
  if (!has_collectives()) return "no measurement with 2 or more ranks has the cost of its collectives";
  const bool half = std::ranges::any_of(base_->units, [](const UnitTimes& unit) {
    return unit.gathered_element_bytes.value_or(4) < 4 || unit.scattered_element_bytes.value_or(4) < 4;
  });
  if (change.model_bytes != 1.0 && half) return "the measured training already has 16-bit collectives";
  if (change.strategy == "ddp" && (change.reshard_after_forward || change.prefetch || change.replicas > 1))
    return "ddp has no shards: give strategy=ddp without reshard_after_forward, prefetch and replicate";
  // On hosts of one core each, DDP took half of the time that this model gives it.
  if (change.strategy == "ddp" && job_.device == "cpu")
    return "on a CPU DDP's cost does not follow from FSDP's collectives: record the training with DDP";
  if (change.prefetch && job_.device == "cpu")
    return "on a CPU FSDP waits for each of its collectives, with and without prefetch";
  if (change.prefetch && *change.prefetch) return "the measured training already gathers units ahead";
  if (change.reshard_after_forward) {
    const bool changes = std::ranges::any_of(base_->units, [&](const UnitTimes& unit) {
      return !unit.root && unit.gathers_again && *unit.gathers_again != *change.reshard_after_forward;
    });
    if (!changes) return "the measured training already has this value of reshard_after_forward";
  }
  return "";
}

std::string ShardedModel::change_refusal_at(std::int64_t workers, const WhatIf& change) const {
  if (workers == 1) return "a single rank does not communicate";
  if (change.replicas > 1 && (workers % change.replicas != 0 || workers == change.replicas))
    return std::to_string(change.replicas) + " replicas of at least 2 shards each need a multiple of " +
           std::to_string(change.replicas) + " ranks, " + std::to_string(2 * change.replicas) + " or more";
  return refusal_of_links(workers, change);
}

Terms ShardedModel::recorded(const ShardedRanks& ranks) {
  Terms terms;
  terms.skew_s = stats::median(ranks.skew_s);
  for (const UnitTimes& unit : ranks.units) {
    terms.compute_s += unit.forward_s + unit.backward_s + unit.copy_s;
    for (const UnitCollectives* calls : {&unit.gathers, &unit.scatters, &unit.replicas})
      terms.communication_s += transfer_s(*calls);
  }
  // The rest of the exposed time is that of collectives outside of units.
  terms.exposed_s = std::clamp(stats::median(ranks.exposed_s) - terms.skew_s, 0.0, terms.communication_s);
  // Kernels that belong to no unit compute, too.
  terms.compute_s = std::max(terms.compute_s + stats::median(ranks.optimizer_s), stats::median(ranks.compute_s));
  terms.other_s = stats::median(ranks.steps_s) - terms.compute_s - terms.exposed_s - terms.skew_s;
  // The medians of parts may exceed the median of the whole a little.
  if (terms.other_s < 0.0) {
    terms.compute_s += terms.other_s;
    terms.other_s = 0.0;
  }
  return terms;
}

Terms ShardedModel::modelled(std::int64_t workers, const ShardedDraw& draw, const WhatIf& change) const {
  const bool ddp = change.strategy == "ddp";
  const Terms measured = recorded(*base_);
  const double optimizer_s = stats::median(base_->optimizer_s);
  const double fixed = draw.optimizer_fixed.value_or(0.5 * (optimizer_fixed_.first + optimizer_fixed_.second));
  const std::int64_t shards = shards_at(*base_, workers, change);
  const double part = static_cast<double>(base_->shards) / static_cast<double>(shards);
  double copies_s = 0.0;  // into and out of FSDP's buffers
  if (ddp)
    for (const UnitTimes& unit : base_->units) copies_s += unit.copy_s;
  const strategy::ShardedStep step = step_at(workers, draw, change);
  Terms terms;
  terms.compute_s = draw.level / change.compute_speed *
                    (measured.compute_s - copies_s - optimizer_s + optimizer_s * (fixed + (1.0 - fixed) * part));
  terms.other_s = draw.level * measured.other_s;
  terms.communication_s = strategy::simulate(step).communication_s;
  terms.exposed_s = exposed_s(step, draw, change);
  terms.latency_s = latency_s(workers, draw, change);
  terms.latency_s = std::min(terms.latency_s, terms.communication_s);
  terms.bandwidth_s = terms.communication_s - terms.latency_s;
  if (base_->workers > 1)
    terms.skew_s =
        draw.wait * measured.skew_s * stats::blom_expected_max(workers) / stats::blom_expected_max(base_->workers);
  return terms;
}

double ShardedModel::exposed_s(const strategy::ShardedStep& step, const ShardedDraw& draw, const WhatIf& change) const {
  const strategy::ShardedOutcome simulated = strategy::simulate(step);
  double exposed_s = simulated.exposed_s();
  if (change.strategy == "ddp") return draw.changed_exposed * exposed_s;
  exposed_s = draw.exposed * exposed_s + draw.extra_exposed * extra_exposed_share_ * simulated.communication_s;
  if (change.any()) exposed_s *= draw.changed_exposed;
  return std::clamp(exposed_s, 0.0, simulated.communication_s);
}

std::vector<ShardedDraw> ShardedModel::draws(std::int64_t workers, const PredictOptions& options) const {
  stats::Random random(options.seed);
  const stats::Interval level = stats::median_interval(base_->steps_s, 0.9);
  const double level_sd = level.mid > 0.0 ? level.relative_half_width() / stats::normal_quantile(0.95) : 0.0;
  const double gathers = spread(gather_.cost, logs_.gathers, workers);
  const double scatters = spread(scatter_.cost, logs_.scatters, workers);
  std::vector<ShardedDraw> all(static_cast<std::size_t>(options.draws));
  for (ShardedDraw& draw : all) {
    draw.level = std::exp(level_sd * random.normal());
    draw.gathers = std::exp(gathers * random.normal());
    draw.scatters = std::exp(scatters * random.normal());
    draw.wait = std::exp(wait_spread * random.normal());
    if (exposed_separated_)
      draw.extra_exposed = 1.0 + extra_error * random.normal();
    else
      draw.exposed = random.uniform();
    draw.gather_latency = random.normal();
    draw.scatter_latency = random.normal();
    draw.fixed_hops = usual_fixed_hops * std::pow(fixed_hops_range, 2.0 * random.uniform() - 1.0);
    draw.excess = random.uniform();
    draw.optimizer_fixed = std::lerp(optimizer_fixed_.first, optimizer_fixed_.second, random.uniform());
    draw.changed_exposed = std::exp(changed_exposed_error * random.normal());
  }
  return all;
}

// Standard deviation of the logarithm of a collective's cost.
double ShardedModel::spread(const RingCost& cost, const std::optional<LoggedCollective>& log,
                            std::int64_t workers) const {
  const RankGroup group{shards_at(*base_, workers, {}), 1};
  if (log && log->covers(group)) {
    double bytes = 0.0;
    for (const UnitTimes& unit : base_->units) bytes = std::max(bytes, static_cast<double>(unit.gathered_bytes));
    return std::max(log->spread(group, bytes), least_collective_error);
  }
  const double doublings = std::abs(std::log2(static_cast<double>(workers) / static_cast<double>(base_->workers)));
  return std::hypot(std::max(cost.error, least_collective_error), growth_error * doublings);
}

void ShardedModel::set_link() {
  const bool by_all_reduce = std::ranges::any_of(base_->units, &UnitTimes::scatters_by_all_reduce);
  const double gather = gather_.cost.seconds_per_byte, scatter = scatter_.cost.seconds_per_byte;
  gather_.link_s_per_byte = scatter > 0.0 ? std::min(gather, by_all_reduce ? 0.5 * scatter : scatter) : gather;
  scatter_.link_s_per_byte = gather > 0.0 ? std::min(scatter, by_all_reduce ? 2.0 * gather : gather) : scatter;
}

bool ShardedModel::scatters_in_each_micro_batch() const {
  return job_.accumulation > 1 && std::ranges::any_of(base_->units, [&](const UnitTimes& unit) {
           return unit.scatters.calls >= static_cast<double>(job_.accumulation);
         });
}

strategy::ShardedStep ShardedModel::step_at(std::int64_t workers, const ShardedDraw& draw, const WhatIf& change) const {
  const bool ddp = change.strategy == "ddp";
  const std::int64_t shards = shards_at(*base_, workers, change);
  const RankGroup all{workers, 1}, group{shards, 1}, replicas{workers / shards, shards};
  const auto micro_batches = static_cast<double>(job_.accumulation);
  strategy::ShardedStep step;
  step.micro_batches = job_.accumulation;
  step.scatters_each_micro_batch = scatters_in_each_micro_batch();
  step.waits = !ddp && (job_.device == "cpu" || change.prefetch.has_value());
  for (const UnitTimes& unit : base_->units) {
    const double copy_s = ddp ? 0.0 : unit.copy_s;
    const double gathered = change.model_bytes * static_cast<double>(unit.gathered_bytes);
    const double scattered = change.model_bytes * static_cast<double>(unit.scattered_bytes);
    strategy::ShardedUnit one;
    one.forward_s = (unit.forward_s + 0.5 * copy_s) / micro_batches / change.compute_speed;
    one.backward_s = (unit.backward_s + 0.5 * copy_s) / micro_batches / change.compute_speed;
    if (gathered > 0.0 && !ddp) one.gather_s = gather_s(group, gathered, draw, change);
    if (scattered > 0.0 && ddp) one.scatter_s = all_reduce_s(unit, all, scattered, draw, change);
    if (scattered > 0.0 && !ddp)
      one.scatter_s = scatter_s(group, scattered, draw, change) +
                      replicas_s(unit, replicas, scattered / static_cast<double>(shards), draw, change);
    one.gathers_again = unit.gathers_again.value_or(false);
    if (change.reshard_after_forward && !unit.root) one.gathers_again = *change.reshard_after_forward;
    step.units.push_back(one);
  }
  return step;
}

double ShardedModel::gather_s(const RankGroup& group, double bytes, const ShardedDraw& draw,
                              const WhatIf& change) const {
  if (logs_.gathers && logs_.gathers->covers(group)) return draw.gathers * logs_.gathers->seconds(group, bytes, change);
  return draw.gathers * seconds(gather_.drawn(group.ranks, draw.gather_latency, draw), group.ranks, bytes, change);
}

double ShardedModel::scatter_s(const RankGroup& group, double bytes, const ShardedDraw& draw,
                               const WhatIf& change) const {
  if (logs_.scatters && logs_.scatters->covers(group))
    return draw.scatters * logs_.scatters->seconds(group, bytes, change);
  return draw.scatters * seconds(scatter_.drawn(group.ranks, draw.scatter_latency, draw), group.ranks, bytes, change);
}

// A ring's all-reduce is a reduce-scatter and an all-gather. If the backend executes the reduce-scatter as an
// all-reduce, the fit of the reduce-scatters is already one of all-reduces.
double ShardedModel::all_reduce_s(const UnitTimes& unit, const RankGroup& group, double bytes, const ShardedDraw& draw,
                                  const WhatIf& change) const {
  const double reduced_s = scatter_s(group, bytes, draw, change);
  return unit.scatters_by_all_reduce ? reduced_s : reduced_s + gather_s(group, bytes, draw, change);
}

// The all-reduce of a shard over its replicas.
double ShardedModel::replicas_s(const UnitTimes& unit, const RankGroup& group, double bytes, const ShardedDraw& draw,
                                const WhatIf& change) const {
  if (group.ranks < 2) return 0.0;
  if (replicas_.calls.calls > 0.0)
    return draw.scatters * seconds(replicas_.drawn(group.ranks, draw.scatter_latency, draw), group.ranks, bytes, change);
  return all_reduce_s(unit, group, bytes, draw, change);
}

double ShardedModel::latency_s(std::int64_t workers, const ShardedDraw& draw, const WhatIf& change) const {
  double sum_s = 0.0;
  const std::int64_t shards = shards_at(*base_, workers, change);
  const RankGroup all{workers, 1}, group{shards, 1}, replicas{workers / shards, shards};
  for (const UnitTimes& unit : base_->units) {
    const bool again =
        change.reshard_after_forward && !unit.root ? *change.reshard_after_forward : unit.gathers_again.value_or(false);
    const double gathers = unit.gathered_bytes > 0 ? static_cast<double>(job_.accumulation) * (again ? 2.0 : 1.0) : 0.0;
    const double scatters = unit.scattered_bytes > 0 ? unit.scatters.calls : 0.0;
    if (change.strategy == "ddp") {
      sum_s += scatters * all_reduce_s(unit, all, 0.0, draw, change);
      continue;
    }
    sum_s += gathers * gather_s(group, 0.0, draw, change) + scatters * scatter_s(group, 0.0, draw, change) +
             scatters * replicas_s(unit, replicas, 0.0, draw, change);
  }
  return sum_s;
}

// From the smallest and the largest measured N: fixed + (1 - fixed) / N. If the smallest one has t times the threads,
// its optimizer would take 1 to t times as long with the threads of the base.
std::pair<double, double> ShardedModel::fixed_part_of_optimizer() const {
  const ShardedRanks* small = measured_.front();
  if (small->shards == base_->shards && job_.measured.front().workers == 1) small = &job_.measured.front();
  const double large_s = stats::median(base_->optimizer_s), small_s = stats::median(small->optimizer_s);
  if (small->shards == base_->shards || !(large_s > 0.0) || small->threads < 1 || base_->threads < 1) return {0.0, 1.0};
  const double shrunk = static_cast<double>(base_->shards) / static_cast<double>(small->shards);
  const double threads =
      job_.device == "cpu" ? static_cast<double>(small->threads) / static_cast<double>(base_->threads) : 1.0;
  const auto fixed = [&](double factor) {
    return std::clamp((shrunk - factor * small_s / large_s) / (shrunk - 1.0), 0.0, 1.0);
  };
  return std::minmax({fixed(1.0), fixed(threads)});
}

bool ShardedModel::optimizer_uncertain() const {
  constexpr double least_share = 0.05;  // of a step
  const auto [least, most] = optimizer_fixed_;
  return (most - least) * stats::median(base_->optimizer_s) > least_share * stats::median(base_->steps_s);
}

std::int64_t most_ranks_per_host(const ShardedJob& job, const PredictOptions& options) {
  const ShardedRanks& largest = job.measured.back();
  if (options.gpus_per_node > 0) return options.gpus_per_node;
  if (largest.nodes > 1) return largest.per_host();
  if (job.device == "cpu") return std::numeric_limits<std::int64_t>::max();
  return std::max(largest.workers, usual_gpus_per_node);
}

ShardedModels::ShardedModels(SQLite::Database& sql, ShardedJob job, const PredictOptions& options)
    : job_(std::move(job)),
      inside_(sql, job_, false, logs(options), nullptr),
      between_(sql, job_, true, logs(options), &inside_) {}

ShardedLogs ShardedModels::logs(const PredictOptions& options) const {
  const auto read = [&](const char* op) -> std::optional<LoggedCollective> {
    const auto has_op = [&](const CollectiveRun& run) { return run.op == op; };
    if (std::ranges::none_of(options.shard_collectives, has_op)) return std::nullopt;
    return LoggedCollective(op, options.shard_collectives, most_ranks_per_host(job_, options));
  };
  return {read("all_gather"), read("reduce_scatter")};
}

const ShardedRanks* ShardedModels::measured_at(std::int64_t workers, const PredictOptions& options) const {
  const std::int64_t wanted = hosts(workers, options);
  const ShardedRanks* found = nullptr;
  for (const ShardedRanks& ranks : job_.measured)
    if (ranks.workers == workers && (!found || ranks.nodes == wanted)) found = &ranks;
  return found && options.gpus_per_node > 0 && found->nodes != wanted ? nullptr : found;
}

const ShardedModel& ShardedModels::model(std::int64_t workers, const PredictOptions& options) const {
  const ShardedRanks* measured = measured_at(workers, options);
  return (measured ? measured->nodes : hosts(workers, options)) > 1 ? between_ : inside_;
}

std::string ShardedModels::refusal(std::int64_t workers, const PredictOptions& options) const {
  if (measured_at(workers, options)) return "";
  const ShardedModel& one = model(workers, options);
  if (!one.has_collectives()) {
    if (!inside_.has_collectives() && !between_.has_collectives())
      return "no measurement with 2 or more ranks has the cost of its all-gathers and reduce-scatters";
    return std::string("collectives ") + (&one == &between_ ? "between hosts" : "inside of one host") +
           " were not measured (logs of nccl-tests of these links replace a measurement: --all-gather and "
           "--reduce-scatter)";
  }
  if (const std::string reason = one.refusal(); !reason.empty()) return reason;
  return one.refusal_at(workers);
}

bool ShardedModels::assumes_own_cores(std::int64_t workers, const PredictOptions& options) const {
  return job_.device == "cpu" && !options.dedicated && !measured_at(workers, options) &&
         ranks_per_host(workers, options) * job_.threads_per_rank > job_.cores;
}

std::int64_t ShardedModels::ranks_per_host(std::int64_t workers, const PredictOptions& options) const {
  return std::min(workers, most_ranks_per_host(job_, options));
}

std::int64_t ShardedModels::hosts(std::int64_t workers, const PredictOptions& options) const {
  return (workers - 1) / ranks_per_host(workers, options) + 1;
}

}  // namespace ddpprof::fit
