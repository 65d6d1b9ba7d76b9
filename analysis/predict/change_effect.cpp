// What a change would bring, and what each term of a step would give back if it were free.
#include <algorithm>
#include <cmath>

#include "analysis/predict/predictor.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr std::int64_t most_server_workers = 1024;

// Each draw's step beside its own without the change.
void add_speedup(WhatIfRow& row, const std::vector<double>& before_s, const std::vector<double>& after_s,
                 double samples_ratio, double tail) {
  std::vector<double> speedups;
  for (std::size_t i = 0; i < std::min(before_s.size(), after_s.size()); ++i)
    speedups.push_back(samples_ratio * before_s[i] / std::max(after_s[i], 1e-9));
  row.speedup = row.throughput > 0.0 ? row.changed_throughput / row.throughput
                                     : samples_ratio * row.step_s / row.changed_step_s;  // an unknown batch
  row.speedup_low = std::min(row.speedup, stats::quantile(speedups, tail));
  row.speedup_high = std::max(row.speedup, stats::quantile(speedups, 1.0 - tail));
}

}  // namespace

std::string_view binding(const std::vector<TermGain>& gains) {
  const auto most = std::max_element(gains.begin(), gains.end(),
                                     [](const TermGain& a, const TermGain& b) { return a.share < b.share; });
  return most == gains.end() || !(most->share > 0.0) ? to_string(Term::compute) : to_string(most->term);
}

std::vector<TermGain> Predictor::gains(std::int64_t workers, bool with_change) const {
  return gains(workers, with_change ? options_.what_if : WhatIf{});
}

std::vector<TermGain> Predictor::gains(std::int64_t workers, const WhatIf& change) const {
  const Machine machine = machine_for(workers);
  const auto step_s = [&](std::vector<Term> free) {
    WhatIf freed = change;
    freed.free = std::move(free);
    return changed(case_at(workers, freed), best(), calibrations_, 0.0).step_s();
  };
  const double whole_s = step_s({});
  const auto gain = [&](double from_s, double to_s) {
    return whole_s > 0.0 ? std::clamp((from_s - to_s) / whole_s, 0.0, 1.0) : 0.0;
  };
  std::vector<TermGain> all;
  if (machine.device != "cuda" && machine.crowding() > 1.0 && !options_.dedicated) {
    // Without compute nothing is left to share: what a rank's own compute takes shows where it has its own cores.
    const double own_s = step_s({Term::sharing});
    all.push_back({Term::compute, gain(own_s, step_s({Term::sharing, Term::compute}))});
    all.push_back({Term::sharing, gain(whole_s, own_s)});
  } else {
    all.push_back({Term::compute, gain(whole_s, step_s({Term::compute}))});
  }
  std::vector<Term> others = {Term::input};
  if (strategy_ == "ddp" && workers > 1) others = {Term::bandwidth, Term::latency, Term::skew, Term::input};
  if (strategy_ == "dp" && workers > 1) others = {Term::input, Term::copies};
  for (const Term term : others) all.push_back({term, gain(whole_s, step_s({term}))});
  return all;
}

double Predictor::throughput(std::int64_t workers, double step_s, const WhatIf& change) const {
  const StepProfile& profile = nearest(machine_for(workers));
  const double samples = profile.samples_per_worker * rounds_ratio(profile, change) * batch_ratio(profile, change);
  return static_cast<double>(workers) * samples / step_s;
}

std::string Predictor::no_change(const WhatIf& change) const {
  const StepProfile& last = profiles().rbegin()->second;
  if (!(last.compute_s() > 0.0)) return "the steps were not traced: nothing says what they are made of";
  if (strategy_ == "ddp") {
    if (change.gradient_bytes != 1.0 && last.compressed)
      return "gradients already travel compressed in what was measured";
    return "";
  }
  if (change.bucket_cap_mb) return "DataParallel has no buckets";
  if (change.gradient_bytes != 1.0) return "DataParallel sends no gradients through a hook that could compress them";
  if (!change.overlap) return "DataParallel overlaps nothing as it is";
  if (!change.strategy.empty()) return "another strategy is simulated from DDP's steps";
  return "";
}

std::string Predictor::no_change_at(std::int64_t workers, const WhatIf& change) const {
  const bool servers = change.strategy.ends_with("ps");
  if (servers && workers > most_server_workers)
    return "parameter servers are simulated with up to " + std::to_string(most_server_workers) + " workers";
  if (servers && change.servers > workers) return std::to_string(change.servers) + " servers are more than the workers";
  if (workers == 1 && change.changes_links()) return "one rank sends nothing";
  const bool bytes = change.gradient_bytes != 1.0 || change.model_bytes != 1.0;
  if (workers == 1 || !(change.changes_links() || bytes)) return "";
  if (strategy_ == "ddp" && !models_.all_reduce.usable) return "all-reduce: " + models_.all_reduce.status;
  if (strategy_ == "dp" && !models_.copies.usable) return "copies: " + models_.copies.status;
  if (strategy_ == "ddp") {
    const FormFit& picked = models_.all_reduce.picked();
    const std::vector<double>& values = picked.solution.values;
    if (change.latency.value && !(picked.hop_s(values, workers) > 0.0))
      return "the log's sizes do not tell a latency that another could replace: say a factor";
    if (change.bandwidth.value && !(picked.byte_s(values, workers) > 0.0))
      return "the log's sizes do not tell a bandwidth that another could replace: say a factor";
  }
  return "";
}

WhatIfRow Predictor::what_if(std::int64_t workers) const { return what_if(workers, options_.what_if); }

WhatIfRow Predictor::what_if(std::int64_t workers, const WhatIf& change) const {
  if (const std::string none = no_change_at(workers, change); !none.empty()) throw std::invalid_argument(none);
  const Case before = case_at(workers), after = case_at(workers, change);
  WhatIfRow row;
  row.strategy = strategy_;
  row.workers = workers;
  row.step_s = central(workers).step_s();
  row.changed_step_s = changed(after, best(), calibrations_, 0.0).step_s();
  if (!(row.changed_step_s > 0.0)) throw std::invalid_argument("nothing would be left of the step");
  row.throughput = throughput(workers, row.step_s, {});
  row.changed_throughput = throughput(workers, row.changed_step_s, change);
  const double drift = drift_sd(after.machine);
  const std::size_t draws = change.strategy.empty() ? samples_.size() : draws_of_strategies;
  const std::vector<double> before_s = changed_samples_s(before, drift, draws);
  const std::vector<double> after_s = changed_samples_s(after, drift, draws);
  const StepProfile& profile = nearest(before.machine);
  const double samples = throughput(workers, 1.0, {});
  const double samples_ratio = samples > 0.0 ? throughput(workers, 1.0, change) / samples
                                             : rounds_ratio(profile, change) * batch_ratio(profile, change);
  const double tail = (1.0 - options_.confidence) / 2.0;
  row.changed_low_s = std::min(row.changed_step_s, stats::quantile(after_s, tail));
  row.changed_high_s = std::max(row.changed_step_s, stats::quantile(after_s, 1.0 - tail));
  add_speedup(row, before_s, after_s, samples_ratio, tail);
  return row;
}

WhatIfRow Predictor::on(const Predictor& other, std::int64_t workers) const {
  if (const std::string why_not = why_none(workers, {}); !why_not.empty()) throw std::invalid_argument(why_not);
  const Outlook there = other.outlook(workers);
  WhatIfRow row;
  row.strategy = strategy_;
  row.workers = workers;
  row.step_s = central(workers).step_s();
  row.changed_step_s = there.terms.step_s();
  row.changed_low_s = there.low_s;
  row.changed_high_s = there.high_s;
  row.throughput = throughput(workers, row.step_s, {});
  row.changed_throughput = other.throughput(workers, row.changed_step_s, {});
  // Both drew the same parameters from the same models.
  const auto steps_s = [&](const Predictor& one) {
    const Case at = one.case_at(workers);
    return one.changed_samples_s(at, one.drift_sd(at.machine));
  };
  const double samples = throughput(workers, 1.0, {});
  const double samples_ratio = samples > 0.0 ? other.throughput(workers, 1.0, {}) / samples : 1.0;
  add_speedup(row, steps_s(*this), steps_s(other), samples_ratio, (1.0 - options_.confidence) / 2.0);
  return row;
}

}  // namespace ddpprof::fit
