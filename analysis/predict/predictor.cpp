#include "analysis/predict/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "analysis/fit/text.hpp"
#include "simulator/stats/interval.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double straggler_spread = 0.3;  // of the logarithm: the noise itself is known to about a third
constexpr double wide_interval = 10.0;    // high over low: beyond it a prediction says little

bool same_machine(const Machine& a, const Machine& b) {
  return a.workers == b.workers && a.ranks_per_machine() == b.ranks_per_machine() &&
         a.threads_per_rank == b.threads_per_rank;
}

}  // namespace

std::string Predictor::refusal(std::int64_t workers) const {
  if (profiles().empty()) return "no step of " + strategy_ + " was measured";
  const bool same = !options_.dedicated && (options_.gpus_per_node == 0 || strategy_ == "dp");
  if (profiles().contains(workers) && (same || measured_on(machine_for(workers)) != nullptr)) return "";
  if (!compute().usable) return "compute: " + compute().status;
  if (workers == 1) return "";
  const bool sized = std::ranges::any_of(profiles(), [](const auto& one) { return one.second.parameter_bytes > 0; });
  if (strategy_ == "ddp" && models_.measured.imported && !sized)
    return "how large the gradients are is not recorded (import --param-bytes says it)";
  if (strategy_ == "ddp" && !models_.all_reduce.usable) return "all-reduce: " + models_.all_reduce.status;
  if (strategy_ == "dp" && !models_.copies.usable) return "copies: " + models_.copies.status;
  return "";
}

Predictor::Predictor(const Models& models, std::string strategy, const PredictOptions& options)
    : models_(models), strategy_(std::move(strategy)), options_(options) {
  // DataParallel's replicas are threads of one process: none can have a host of its own.
  asked_dedicated_ = options_.dedicated;
  if (strategy_ == "dp") options_.dedicated = false;
  for (const auto& [workers, profile] : profiles()) {
    measured_intervals_.emplace(workers, stats::clustered_median_interval(profile.step_repeats, options_.confidence));
  }
  calibrations_ = calibrate(best());
  for (Draw& one : draws()) {
    Calibrations own = calibrate(one);
    samples_.push_back({std::move(one), std::move(own)});
  }
}

const std::map<std::int64_t, StepProfile>& Predictor::profiles() const {
  return strategy_ == "ddp" ? models_.measured.ddp : models_.measured.dp;
}

const ComputeFit& Predictor::compute() const { return strategy_ == "ddp" ? models_.ddp_compute : models_.dp_compute; }

std::int64_t Predictor::largest_measured() const { return profiles().rbegin()->first; }

Machine Predictor::machine_for(std::int64_t workers) const {
  if (options_.dedicated) return compute().dedicated_machine(workers);
  // DataParallel is one process: its replicas are always on one host.
  return compute().machine_for(workers, strategy_ == "dp" ? 0 : options_.gpus_per_node);
}

const StepProfile* Predictor::measured_on(const Machine& machine) const {
  const auto found = profiles().find(machine.workers);
  if (found == profiles().end()) return nullptr;
  const StepProfile& profile = found->second;
  if (options_.dedicated) {
    // Enough cores for every rank is not yet alone: ranks on one host share its memory, caches and clock as well.
    const bool alone = profile.machine.device == "cuda" || profile.machine.workers == 1;
    return alone && profile.machine.threads_per_rank == machine.threads_per_rank ? &profile : nullptr;
  }
  return same_machine(profile.machine, machine) ? &profile : nullptr;
}

const StepProfile& Predictor::nearest(const Machine& machine) const {
  // How far a profile is: in ranks per host first, as they set the compute, then in N; of equals the smaller.
  const auto distance = [&](const Machine& other) {
    const auto apart = [](std::int64_t a, std::int64_t b) {
      return std::abs(std::log(static_cast<double>(a)) - std::log(static_cast<double>(b)));
    };
    return std::pair{apart(other.ranks_per_machine(), machine.ranks_per_machine()),
                     apart(other.workers, machine.workers)};
  };
  return std::min_element(
             profiles().begin(), profiles().end(),
             [&](const auto& a, const auto& b) { return distance(a.second.machine) < distance(b.second.machine); })
      ->second;
}

Predictor::Draw Predictor::best() const {
  Draw draw;
  if (!models_.all_reduce.forms.empty()) {
    draw.form = &models_.all_reduce.picked();
    draw.link = draw.form->solution.values;
  }
  draw.compute = compute().solution.values;
  draw.copies = models_.copies.solution.values;
  return draw;
}

std::vector<Predictor::Draw> Predictor::draws() const {
  stats::Random random(options_.seed);
  const auto normals = [&](std::size_t count) {
    std::vector<double> values(count);
    for (double& value : values) value = random.normal();
    return values;
  };
  std::vector<Draw> all(static_cast<std::size_t>(options_.draws));
  for (Draw& one : all) {
    double share = random.uniform();
    for (const FormFit& form : models_.all_reduce.forms) {
      one.form = &form;
      share -= form.weight;
      if (share <= 0.0) break;
    }
    if (one.form) one.link = draw(one.form->problem, one.form->solution, normals(one.form->solution.x.size()));
    const ComputeFit& fit = compute();
    if (!fit.solution.x.empty()) one.compute = draw(fit.problem, fit.solution, normals(fit.solution.x.size()));
    const CopyFit& copies = models_.copies;
    if (!copies.solution.x.empty()) {
      one.copies = draw(copies.problem, copies.solution, normals(copies.solution.x.size()));
    }
    one.profile = random.normal();
    one.straggler = std::exp(random.normal() * straggler_spread);
    one.drift = random.normal();
    one.batch = random.normal();
    one.levels = normals(profiles().size());
  }
  const BatchFit& batch = compute().batch;
  if (!batch.usable) return all;
  // From numbers of their own: what is drawn otherwise is the same with one batch and with several.
  stats::Random more(options_.seed ^ 0x9e3779b97f4a7c15U);
  for (Draw& one : all) {
    double share = more.uniform();
    for (const BatchLaw& law : batch.laws) {
      if (!(law.weight > 0.0)) break;  // the heaviest stands first
      one.batch_law = &law;
      share -= law.weight;
      if (share <= 0.0) break;
    }
    std::vector<double> own(one.batch_law->solution.x.size());
    for (double& normal : own) normal = more.normal();
    one.batch_own = draw(one.batch_law->problem, one.batch_law->solution, own).front();
  }
  return all;
}

Terms Predictor::modelled(std::int64_t workers) const { return changed(case_at(workers), best(), calibrations_, 0.0); }

Terms Predictor::central(std::int64_t workers) const {
  const Terms terms = modelled(workers);
  const StepProfile* measured = measured_on(machine_for(workers));
  return measured ? recorded(*measured, terms).value_or(terms) : terms;
}

std::optional<Terms> Predictor::recorded(std::int64_t workers) const {
  const StepProfile* measured = measured_on(machine_for(workers));
  return measured ? recorded(*measured, modelled(workers)) : std::nullopt;
}

std::optional<Terms> Predictor::recorded(const StepProfile& profile, const Terms& modelled) {
  const bool ddp = profile.strategy == "ddp";
  const bool several = profile.machine.workers > 1;
  if (ddp && several && !(profile.communication_s > 0.0)) return std::nullopt;
  Terms terms;
  const double step_s = stats::median(profile.step_s);
  terms.compute_s = step_s * profile.shares.compute;
  if (several || !ddp) {
    terms.skew_s = step_s * profile.shares.skew;
    terms.exposed_s = step_s * profile.shares.exposed;
    terms.communication_s = std::max(terms.exposed_s, profile.communication_s - profile.waited_s);
    const double carried_s = modelled.latency_s + modelled.bandwidth_s;
    const double latency_share = carried_s > 0.0 ? modelled.latency_s / carried_s : 0.0;
    terms.latency_s = terms.communication_s * latency_share;
    terms.bandwidth_s = terms.communication_s - terms.latency_s;
  }
  terms.input_s = step_s * profile.shares.input;
  terms.other_s = std::max(0.0, step_s - terms.compute_s - terms.exposed_s - terms.skew_s);  // but for rounding
  return terms;
}

stats::Interval Predictor::interval(std::int64_t workers) const {
  const Case at = case_at(workers);
  if (at.measured) return measured_intervals_.at(workers);
  return interval_of(changed_samples_s(at, drift_sd(at.machine)), least_s(at.machine));
}

stats::Interval Predictor::interval_of(const std::vector<double>& steps_s, double least_s) const {
  stats::Interval interval;
  const double tail = (1.0 - options_.confidence) / 2.0;
  const auto [low, high] = stats::quantiles(steps_s, tail, 1.0 - tail);
  interval.low = std::max(low, least_s);
  interval.high = high;
  interval.achieved_confidence = options_.confidence;
  return interval;
}

double Predictor::least_s(const Machine& machine) const {
  double least_s = 0.0;
  for (const auto& [workers, profile] : profiles()) {
    const Machine& other = profile.machine;
    const bool easier = workers <= machine.workers && other.nodes <= machine.nodes &&
                        other.ranks_per_machine() <= machine.ranks_per_machine() &&
                        other.threads_per_rank >= machine.threads_per_rank;
    if (easier) least_s = std::max(least_s, measured_intervals_.at(workers).low);
  }
  return least_s;
}

Prediction Predictor::predict(std::int64_t workers, const std::vector<TermGain>& why) const {
  const Terms terms = central(workers);
  const stats::Interval range = interval(workers);
  Prediction row;
  row.strategy = strategy_;
  row.world_size = workers;
  row.gpus_per_node = options_.gpus_per_node;
  row.step_s = terms.step_s();
  row.confidence = std::min(options_.confidence, range.achieved_confidence);
  row.step_low_s = std::min(range.low, row.step_s);
  row.step_high_s = std::max(range.high, row.step_s);
  row.compute_s = terms.compute_s;
  row.communication_s = terms.communication_s;
  row.exposed_s = terms.exposed_s;
  row.latency_s = terms.latency_s;
  row.bandwidth_s = terms.bandwidth_s;
  row.skew_s = terms.skew_s;
  row.other_s = terms.other_s;
  row.throughput = throughput(workers, row.step_s, {});
  row.efficiency = central(1).step_s() / row.step_s;  // weak scaling: the batch a worker is the same at every N
  row.bound = binding(why);
  row.extrapolation = static_cast<double>(workers) / static_cast<double>(largest_measured());
  row.note = note(workers);
  if (is_wide(row)) {
    row.note += "; the interval spans a factor of " + number_text(row.step_high_s / row.step_low_s) +
                ": an order of magnitude, not a time";
  }
  return row;
}

bool Predictor::is_wide(const Prediction& row) { return row.step_high_s > wide_interval * row.step_low_s; }

double Predictor::largest_correction() const {
  double largest = 1.0;
  for (const Calibration& one : calibrations_) {
    if (one.workers == largest_measured()) largest = std::exp(std::max(std::abs(one.waiting), std::abs(one.step)));
  }
  return largest;
}

// Which of NCCL's regimes each size of the model's buckets falls into there.
std::string Predictor::regimes_text(const Regimes& regimes, std::int64_t workers) const {
  std::map<std::string, std::set<std::int64_t>> sizes;
  for (const Bucket& bucket : case_at(workers).buckets)
    sizes[regimes.at(workers, bucket.bytes).name].insert(bucket.bytes);
  std::string text = "NCCL: ";
  for (const auto& [name, of] : sizes) {
    if (text.size() > 6) text += ", ";
    text += name + " for buckets of " + bytes_text(*of.begin());
    if (of.size() > 1) text += " to " + bytes_text(*of.rbegin());
  }
  return sizes.empty() ? "NCCL: " + regimes.ladder_text(workers) : text;
}

std::string Predictor::note(std::int64_t workers) const {
  std::string text;
  const auto add = [&](const std::string& sentence) { text += (text.empty() ? "" : "; ") + sentence; };
  const std::string batch =
      compute().batch.usable
          ? "for " + std::to_string(profiles().begin()->second.batch_per_worker) + " samples a worker and micro-batch"
          : "";
  const Machine machine = machine_for(workers);
  const Calibration used = calibration(calibrations_, machine);
  if (measured_on(machine)) {
    add("measured; the model alone is off by " + percent(std::exp(-used.raw) - 1.0));
    if (!batch.empty()) add(batch);
    return text;
  }
  if (!batch.empty()) add(batch);
  if (options_.dedicated) {
    add("every rank has the cores of one rank at N = " + std::to_string(profiles().begin()->first));
  } else if (machine.device != "cuda" && machine.crowding() > 1.0) {
    add(std::to_string(machine.ranks_per_machine()) + " ranks share " + std::to_string(machine.cores) + " cores");
  }
  const Machine& last = profiles().rbegin()->second.machine;
  // Containers of one machine: their links are its memory.
  const bool first_hosts = last.nodes == 1 ? machine.nodes > 1 : last.machines == 1 && machine.machines > 1;
  const bool curves = !models_.all_reduce.forms.empty() && models_.all_reduce.picked().form.curves;
  if (strategy_ == "ddp" && first_hosts && workers > 1 && !curves) {
    add("links between hosts were not measured: they are taken to be as fast as this host's own");
  }
  if (strategy_ == "ddp" && workers > 1 && !models_.all_reduce.forms.empty())
    if (const auto& regimes = models_.all_reduce.picked().form.regimes) add(regimes_text(*regimes, workers));
  if (calibrations_.empty()) {
    add("no measured step is on such a machine: not calibrated");
  } else if (std::abs(used.waiting) >= 0.005 || std::abs(used.step) >= 0.005) {
    char scaled[96];
    std::snprintf(scaled, sizeof scaled, "calibrated: waiting × %.3f, step × %.3f", std::exp(used.waiting),
                  std::exp(used.step));
    add(scaled);
  }
  if (strategy_ == "dp" && (asked_dedicated_ || (options_.gpus_per_node > 0 && workers > options_.gpus_per_node)))
    add("DataParallel is one process: all its replicas are on one host" +
        std::string(asked_dedicated_ ? ", as measured" : ""));
  if (models_.measured.mixed) add("other workloads of the database are left out");
  if (workers > 4 * largest_measured())
    add("far beyond the largest measured N = " + std::to_string(largest_measured()));
  return text;
}

}  // namespace ddpprof::fit
