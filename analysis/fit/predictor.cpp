#include "analysis/fit/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "analysis/fit/text.hpp"
#include "simulator/stats/interval.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double largest_waiting = 1.6094379124341003;  // ln 5
constexpr double drift_per_doubling = 0.02;  // least drift of the calibration for each doubling of N beyond the data
constexpr double unknown_drift = 0.05;       // the same where only one N > 1 was measured

double log2_of(double value) { return std::log(value) / std::log(2.0); }

bool same_machine(const Machine& a, const Machine& b) {
  return a.workers == b.workers && a.ranks_per_host() == b.ranks_per_host() && a.threads_per_rank == b.threads_per_rank;
}

}  // namespace

std::string Predictor::refusal(const Models& models, const std::string& strategy, std::int64_t workers) {
  const bool ddp = strategy == "ddp";
  const auto& profiles = ddp ? models.measured.ddp : models.measured.dp;
  const ComputeFit& compute = ddp ? models.ddp_compute : models.dp_compute;
  if (profiles.empty()) return "no step of " + strategy + " was measured";
  if (profiles.contains(workers)) return "";
  if (!compute.usable) return "compute: " + compute.status;
  if (workers == 1) return "";
  if (ddp && !models.all_reduce.usable) return "all-reduce: " + models.all_reduce.status;
  if (!ddp && !models.copies.usable) return "copies: " + models.copies.status;
  return "";
}

Predictor::Predictor(const Models& models, std::string strategy, const PredictOptions& options)
    : models_(models), strategy_(std::move(strategy)), options_(options), calibrations_(calibrate(best())) {}

Predictor::Calibrations Predictor::calibrate(const Draw& draw) const {
  Calibrations all;
  for (const auto& [workers, profile] : profiles()) {
    // Every N shows what the model misses on the machine it was measured on, whatever the machine asked about.
    const Machine& machine = options_.dedicated ? machine_for(workers) : profile.machine;
    if (measured_on(machine) == nullptr) continue;
    const Terms terms = model(machine, draw);
    const double measured = stats::median(profile.step_s);
    const double modelled = terms.step_s();
    if (!(modelled > 0.0 && measured > 0.0)) continue;
    Calibration one;
    one.workers = workers;
    one.ranks_per_host = machine.ranks_per_host();
    one.raw = std::log(measured / modelled);
    const double waiting = terms.exposed_s + terms.skew_s;
    const double needed = measured - (modelled - waiting);
    // Waiting that is next to nothing cannot explain a difference.
    if (waiting > 0.05 * modelled && needed > 0.0) {
      one.waiting = std::clamp(std::log(needed / waiting), -largest_waiting, largest_waiting);
    }
    one.step = std::log(measured / (modelled + waiting * (std::exp(one.waiting) - 1.0)));
    all.push_back(one);
  }
  std::sort(all.begin(), all.end(), [](const Calibration& a, const Calibration& b) {
    return std::pair{a.ranks_per_host, a.workers} < std::pair{b.ranks_per_host, b.workers};
  });
  return all;
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
    return std::pair{apart(other.ranks_per_host(), machine.ranks_per_host()), apart(other.workers, machine.workers)};
  };
  const StepProfile* best = nullptr;
  for (const auto& [workers, profile] : profiles()) {
    if (!best || distance(profile.machine) < distance(best->machine)) best = &profile;
  }
  return *best;
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
    one.straggler = random.normal();
    one.calibration = random.normal();
  }
  return all;
}

Terms Predictor::model(const Machine& machine, const Draw& draw) const {
  const StepProfile* measured = measured_on(machine);
  const StepProfile& profile = measured ? *measured : nearest(machine);
  double scale = std::exp(draw.profile * profile.compute_noise);
  if (!measured && !draw.compute.empty()) {
    scale *= compute().compute_s(machine, draw.compute) / compute().compute_s(profile.machine, draw.compute);
  }
  return strategy_ == "ddp" ? ddp_terms(profile, scale, machine, draw) : dp_terms(profile, scale, machine, draw);
}

Predictor::Calibration Predictor::calibration(const Calibrations& all, const Machine& machine) {
  if (all.empty()) return {};
  const auto between = [](const Calibration& below, const Calibration& above, double share) {
    const auto mix = [share](double low, double high) { return low + share * (high - low); };
    return Calibration{above.workers, above.ranks_per_host, mix(below.waiting, above.waiting),
                       mix(below.step, above.step), mix(below.raw, above.raw)};
  };
  // Where `at` lies between two counts, in the logarithm, kept within them.
  const auto share_of = [](std::int64_t at, std::int64_t low, std::int64_t high) {
    if (at <= low || low >= high) return 0.0;
    if (at >= high) return 1.0;
    return std::log(static_cast<double>(at) / static_cast<double>(low)) /
           std::log(static_cast<double>(high) / static_cast<double>(low));
  };
  std::vector<Calibration> levels;  // one for each ranks per host, taken at the machine's N
  for (auto first = all.begin(); first != all.end();) {
    const auto last = std::find_if(first, all.end(),
                                   [&](const Calibration& one) { return one.ranks_per_host != first->ranks_per_host; });
    auto above = std::find_if(first, last, [&](const Calibration& one) { return one.workers >= machine.workers; });
    if (above == last) --above;
    const Calibration& below = above == first ? *above : *std::prev(above);
    levels.push_back(between(below, *above, share_of(machine.workers, below.workers, above->workers)));
    first = last;
  }
  const std::int64_t ranks = machine.ranks_per_host();
  auto above =
      std::find_if(levels.begin(), levels.end(), [&](const Calibration& one) { return one.ranks_per_host >= ranks; });
  if (above == levels.end()) --above;
  const Calibration& below = above == levels.begin() ? *above : *std::prev(above);
  return between(below, *above, share_of(ranks, below.ranks_per_host, above->ranks_per_host));
}

double Predictor::calibration_sd(const Machine& machine) const {
  if (calibrations_.empty()) return 0.1;
  double noise = 0.02;
  // The measured N with the nearest ranks per host, of those the largest: what is beyond it may drift.
  std::size_t index = 0;
  const auto apart = [&](const Calibration& one) {
    return std::abs(log2_of(static_cast<double>(machine.ranks_per_host()) / static_cast<double>(one.ranks_per_host)));
  };
  for (std::size_t i = 1; i < calibrations_.size(); ++i) {
    if (apart(calibrations_[i]) <= apart(calibrations_[index])) index = i;
  }
  const Calibration& last = calibrations_[index];
  const auto profile = profiles().find(last.workers);
  if (profile != profiles().end()) noise = summarise(profile->second.step_s).relative_error;
  const double doublings =
      std::max(0.0, log2_of(static_cast<double>(machine.workers) / static_cast<double>(last.workers)));
  // What the model missed more at the last N than at the one before may go on growing; one N > 1 shows no change at
  // all.
  double drift = std::max(unknown_drift, 0.25 * std::abs(last.raw));
  if (index >= 1 && calibrations_[index - 1].workers > 1 && calibrations_[index - 1].workers < last.workers) {
    const Calibration& before = calibrations_[index - 1];
    const double steps = log2_of(static_cast<double>(last.workers) / static_cast<double>(before.workers));
    drift = std::max(std::abs(last.raw - before.raw), std::abs(last.step - before.step)) / steps;
  }
  return std::hypot(noise, std::max(drift, drift_per_doubling) * doublings);
}

Terms Predictor::calibrated(Terms terms, const Calibration& calibration, double drift) {
  const double step = std::exp(calibration.step + drift);
  const double waiting = step * std::exp(calibration.waiting);
  for (double* part : {&terms.compute_s, &terms.other_s, &terms.input_s}) *part *= step;
  for (double* part : {&terms.exposed_s, &terms.skew_s, &terms.communication_s, &terms.latency_s, &terms.bandwidth_s}) {
    *part *= waiting;
  }
  return terms;
}

Terms Predictor::central(std::int64_t workers) const {
  const Machine machine = machine_for(workers);
  return calibrated(model(machine, best()), calibration(calibrations_, machine), 0.0);
}

Prediction Predictor::predict(std::int64_t workers) const {
  const Terms terms = central(workers);
  const Machine machine = machine_for(workers);
  Prediction row;
  row.strategy = strategy_;
  row.world_size = workers;
  row.gpus_per_node = options_.gpus_per_node;
  row.step_s = terms.step_s();
  row.confidence = options_.confidence;
  if (const StepProfile* measured = measured_on(machine)) {
    const stats::Interval interval = stats::median_interval(measured->step_s, options_.confidence);
    row.step_low_s = interval.low;
    row.step_high_s = interval.high;
    row.confidence = std::min(options_.confidence, interval.achieved_confidence);
  } else {
    std::vector<double> steps;
    for (const Draw& one : draws()) {
      const double drift = one.calibration * calibration_sd(machine);
      steps.push_back(calibrated(model(machine, one), calibration(calibrations_, machine), drift).step_s());
    }
    row.step_low_s = stats::quantile(steps, (1.0 - options_.confidence) / 2.0);
    row.step_high_s = stats::quantile(steps, (1.0 + options_.confidence) / 2.0);
  }
  row.step_low_s = std::min(row.step_low_s, row.step_s);
  row.step_high_s = std::max(row.step_high_s, row.step_s);
  row.compute_s = terms.compute_s;
  row.communication_s = terms.communication_s;
  row.exposed_s = terms.exposed_s;
  row.latency_s = terms.latency_s;
  row.bandwidth_s = terms.bandwidth_s;
  row.skew_s = terms.skew_s;
  row.other_s = terms.other_s;
  row.throughput = static_cast<double>(workers) * nearest(machine).samples_per_worker / row.step_s;
  row.efficiency = central(1).step_s() / row.step_s;  // weak scaling: the batch a worker is the same at every N
  row.bound = bound(workers, terms);
  row.extrapolation = static_cast<double>(workers) / static_cast<double>(largest_measured());
  row.note = note(workers, terms);
  return row;
}

std::string Predictor::bound(std::int64_t workers, const Terms& terms) const {
  const Terms alone = central(1);
  const double own_compute = std::min(terms.compute_s, alone.compute_s);
  const double carried = terms.latency_s + terms.bandwidth_s;
  const double latency_share = carried > 0.0 ? terms.latency_s / carried : 0.0;
  std::vector<std::pair<std::string, double>> parts = {{"compute", own_compute},
                                                       {"sharing", terms.compute_s - own_compute},
                                                       {"skew", terms.skew_s},
                                                       {"input", terms.input_s}};
  if (strategy_ == "dp") {
    parts.emplace_back("copies", terms.exposed_s);
  } else if (workers > 1) {
    parts.emplace_back("latency", terms.exposed_s * latency_share);
    parts.emplace_back("bandwidth", terms.exposed_s * (1.0 - latency_share));
  }
  return std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::string Predictor::note(std::int64_t workers, const Terms&) const {
  std::string text;
  const auto add = [&](const std::string& sentence) { text += (text.empty() ? "" : "; ") + sentence; };
  const Machine machine = machine_for(workers);
  const Calibration used = calibration(calibrations_, machine);
  if (measured_on(machine)) {
    add("measured; the model alone is off by " + percent(std::exp(-used.raw) - 1.0));
    return text;
  }
  if (options_.dedicated) {
    add("every rank has the cores of one rank at N = " + std::to_string(profiles().begin()->first));
  } else if (machine.device != "cuda" && machine.crowding() > 1.0) {
    add(std::to_string(machine.ranks_per_host()) + " ranks share " + std::to_string(machine.cores) + " cores");
  }
  const bool several_hosts = machine.nodes > 1;
  if (strategy_ == "ddp" && several_hosts && workers > 1 && profiles().rbegin()->second.machine.nodes == 1) {
    add("links between hosts were not measured: they are taken to be as fast as this host's own");
  }
  if (calibrations_.empty()) {
    add("no measured step is on such a machine: not calibrated");
  } else if (std::abs(used.waiting) >= 0.005 || std::abs(used.step) >= 0.005) {
    char scaled[96];
    std::snprintf(scaled, sizeof scaled, "calibrated: waiting x %.3f, step x %.3f", std::exp(used.waiting),
                  std::exp(used.step));
    add(scaled);
  }
  if (workers > 4 * largest_measured())
    add("far beyond the largest measured N = " + std::to_string(largest_measured()));
  return text;
}

}  // namespace ddpprof::fit
