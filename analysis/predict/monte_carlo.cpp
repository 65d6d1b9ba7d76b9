// What the draws behind an interval give: one by one, or all at once where a recurrence says it.
#include <algorithm>
#include <cmath>
#include <future>
#include <stdexcept>
#include <thread>

#include "analysis/predict/predictor.hpp"
#include "simulator/stats/interval.hpp"
#include "simulator/step/ddp_draws.hpp"

namespace ddpprof::fit {
namespace {

constexpr std::size_t most_threads = 16;

}  // namespace

Terms Predictor::changed(const Case& at, const Draw& draw, const Calibrations& calibrations, double drift) const {
  return with_all_work(calibrated(model(at, draw), calibration(calibrations, at.machine), drift), at,
                       strategy_ == "dp");
}

bool Predictor::runs_at_once(const Case& at) const {
  return strategy_ == "ddp" && at.change.strategy.empty() && at.slowdown == 1.0;
}

std::vector<Terms> Predictor::model_samples(const Case& at, std::size_t count) const {
  if (runs_at_once(at)) {
    std::vector<const Draw*> draws;
    for (std::size_t i = 0; i < count; ++i) draws.push_back(&samples_[i].draw);
    return ddp_terms_at_once(at, draws);
  }
  std::vector<Terms> all;
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) all.push_back(model(at, samples_[i].draw));
  return all;
}

std::vector<double> Predictor::changed_samples_s(const Case& at, double drift_sd, std::size_t most) const {
  const std::size_t count = std::min(most, samples_.size());
  const std::vector<Terms> modelled = model_samples(at, count);
  const std::vector<double> usual = weights(calibrations_, at.machine);
  const auto same_place = [](const Calibration& a, const Calibration& b) {
    return a.workers == b.workers && a.ranks_per_machine == b.ranks_per_machine;
  };
  std::vector<double> steps_s;
  steps_s.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Calibrations& own = samples_[i].calibrations;
    const bool same = std::equal(own.begin(), own.end(), calibrations_.begin(), calibrations_.end(), same_place);
    const Calibration here = same ? mean(own, usual) : calibration(own, at.machine);
    const double drift = drift_sd > 0.0 ? samples_[i].draw.drift * drift_sd : 0.0;
    steps_s.push_back(with_all_work(calibrated(modelled[i], here, drift), at, strategy_ == "dp").step_s());
  }
  return steps_s;
}

std::string Predictor::why_none(std::int64_t workers, const WhatIf& change) const {
  std::string why_not = refusal(workers);
  if (why_not.empty() && change.any()) why_not = no_change(change);
  if (why_not.empty() && change.any()) why_not = no_change_at(workers, change);
  return why_not;
}

Outlook Predictor::outlook(std::int64_t workers, const WhatIf& change) const {
  if (const std::string why_not = why_none(workers, change); !why_not.empty()) throw std::invalid_argument(why_not);
  Outlook out;
  const Case at = case_at(workers, change);
  if (at.measured && !change.any()) {
    out.terms = central(workers);
    out.low_s = measured_intervals_.at(workers).low;
    out.high_s = measured_intervals_.at(workers).high;
  } else {
    out.terms = changed(at, best(), calibrations_, 0.0);
    const std::size_t draws = change.strategy.empty() ? samples_.size() : draws_of_strategies;
    const stats::Interval range =
        interval_of(changed_samples_s(at, drift_sd(at.machine), draws), change.any() ? 0.0 : least_s(at.machine));
    out.low_s = range.low;
    out.high_s = range.high;
  }
  out.low_s = std::min(out.low_s, out.terms.step_s());
  out.high_s = std::max(out.high_s, out.terms.step_s());
  return out;
}

std::vector<Outlook> Predictor::curve(std::span<const std::int64_t> workers, const WhatIf& change) const {
  std::vector<Outlook> all(workers.size());
  const std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most_threads);
  // A large N costs as much as a small one: thread t takes those at t, t + threads, …
  const auto run = [&](std::size_t first) {
    for (std::size_t i = first; i < workers.size(); i += threads) {
      try {
        all[i] = outlook(workers[i], change);
      } catch (const std::invalid_argument& error) {
        all[i].why_not = error.what();
      }
    }
  };
  std::vector<std::future<void>> others;
  for (std::size_t first = 1; first < std::min(threads, workers.size()); ++first)
    others.push_back(std::async(std::launch::async, run, first));
  run(0);
  for (std::future<void>& other : others) other.get();
  return all;
}

}  // namespace ddpprof::fit
