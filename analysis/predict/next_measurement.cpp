// Which one measurement more would tell most about a prediction.
//
// Each draw behind an interval is a world that agrees with what was measured. What a further measurement would read in
// each world, and how that goes with the step asked about, tells what is left of the step's variance once it is read:
// var(Y) - cov(Y, X) var(X)^-1 cov(X, Y), as for normal variables. The drift beyond the data starts anew at the N
// added.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "analysis/predict/predictor.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double least_noise = 0.01;     // no measured step is better known
constexpr double sweep_noise = 0.02;     // of bench-comm's times, and of two batches' beside each other
constexpr double worth_saying = 0.8;     // of the interval's width, left
constexpr double nearly_as_good = 0.75;  // of the best one's gain: the cheaper one is named
constexpr std::int64_t furthest = 8;     // times the largest measured N
constexpr double small_bytes = 1 << 10, large_bytes = 16 << 20;

double covariance(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = stats::mean(a), mean_b = stats::mean(b);
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum / static_cast<double>(a.size() - 1);
}

// What is left of y's variance once x is read with so much noise.
double left_of(const std::vector<double>& y, const std::vector<double>& x, double noise) {
  const double both = covariance(y, x);
  return std::max(0.0, covariance(y, y) - both * both / (covariance(x, x) + noise * noise));
}

// … once two are read.
double left_of(const std::vector<double>& y, const std::vector<double>& x1, const std::vector<double>& x2,
               double noise) {
  const double a = covariance(x1, x1) + noise * noise, b = covariance(x1, x2), c = covariance(x2, x2) + noise * noise;
  const double u = covariance(y, x1), v = covariance(y, x2), det = a * c - b * b;
  return std::max(0.0, covariance(y, y) - (c * u * u - 2.0 * b * u * v + a * v * v) / det);
}

}  // namespace

std::vector<double> Predictor::log_steps(std::int64_t workers) const {
  std::vector<double> logs = changed_samples_s(case_at(workers), 0.0);
  for (double& value : logs) value = std::log(value);
  return logs;
}

std::optional<NextMeasurement> Predictor::next_measurement(std::int64_t workers) const {
  const Case asked = case_at(workers);
  const Machine& machine = asked.machine;
  if (asked.measured || samples_.size() < 3) return std::nullopt;
  const std::vector<double> steps = log_steps(workers);
  // How much of the drift in the waiting reaches the step.
  constexpr double nudge = 0.05;
  const auto drifted = [&](double by) { return std::log(changed(asked, best(), calibrations_, by).step_s()); };
  const double reach = (drifted(nudge) - drifted(-nudge)) / (2.0 * nudge);
  const Drift now = drift(machine);
  const auto width = [&](double variance, double drift_sd) {
    const double z = stats::normal_quantile(0.5 + 0.5 * options_.confidence);
    return std::expm1(z * std::hypot(std::sqrt(variance), reach * drift_sd));
  };
  const double now_width = width(covariance(steps, steps), drift_sd(machine));

  std::vector<NextMeasurement> candidates;  // cheapest first
  const bool swept = (!models_.all_reduce.forms.empty() && models_.all_reduce.picked().form.curves) ||
                     std::any_of(models_.all_reduce.points.begin(), models_.all_reduce.points.end(),
                                 [](const CollectivePoint& point) { return point.bench; });
  if (strategy_ == "ddp" && !swept && !models_.all_reduce.forms.empty() && workers > 1) {
    const std::int64_t among = std::max<std::int64_t>(2, largest_measured());
    const Machine there = machine_for(among);
    std::vector<double> small, large;
    for (const auto& [one, own] : samples_) {
      const auto time = [&](double bytes) {
        return std::log(one.form->cost(there, static_cast<std::int64_t>(bytes), one.link).total_s());
      };
      small.push_back(time(small_bytes));
      large.push_back(time(large_bytes));
    }
    candidates.push_back({among, true, now_width, width(left_of(steps, small, large, sweep_noise), drift_sd(machine))});
  }
  double noise = least_noise;
  for (const auto& [measured, profile] : profiles()) noise = std::max(noise, profile.step_noise);
  for (std::int64_t at = 1; at < workers && at <= furthest * largest_measured(); at *= 2) {
    if (measured_on(machine_for(at)) != nullptr || !refusal(at).empty()) continue;
    const double left = left_of(steps, log_steps(at), noise);
    // Beyond it the drift starts anew, and what is not calibrated yet will be.
    const double beyond = std::log2(static_cast<double>(workers) / static_cast<double>(at));
    const double drift_left =
        at > 1 ? std::min(drift_sd(machine), now.a_doubling * std::min(now.doublings, beyond)) : drift_sd(machine);
    candidates.push_back({at, false, now_width, width(left, drift_left)});
  }
  const auto best_one = std::min_element(candidates.begin(), candidates.end(),
                                         [](const auto& a, const auto& b) { return a.then < b.then; });
  if (best_one == candidates.end() || best_one->then > worth_saying * now_width) return std::nullopt;
  const double gain = now_width - best_one->then;
  return *std::find_if(candidates.begin(), candidates.end(),
                       [&](const NextMeasurement& one) { return now_width - one.then >= nearly_as_good * gain; });
}

std::optional<NextMeasurement> Predictor::next_batch(std::int64_t workers, const WhatIf& change) const {
  const Case asked = case_at(workers, change);
  if (batch_ratio(*asked.profile, change) == 1.0 || samples_.size() < 3) return std::nullopt;
  const std::int64_t batch = *change.batch_per_worker;
  const BatchFit& fit = compute().batch;
  if (fit.usable && std::ranges::find(fit.batches, batch) != fit.batches.end()) return std::nullopt;
  if (const std::string none = no_change_at(workers, change); !none.empty()) throw std::invalid_argument(none);
  // Each rank computes its own micro-batch: the smallest measured N tells as much as any, and costs least.
  const StepProfile& least = profiles().begin()->second;
  const std::size_t draws = change.strategy.empty() ? samples_.size() : draws_of_strategies;
  std::vector<double> steps = changed_samples_s(asked, drift_sd(asked.machine), draws), read;
  for (double& value : steps) value = std::log(value);
  for (std::size_t i = 0; i < steps.size(); ++i)
    read.push_back(std::log(batch_factor(least, change, samples_[i].draw)));
  const double z = stats::normal_quantile(0.5 + 0.5 * options_.confidence);
  const auto width = [&](double variance) { return std::expm1(z * std::sqrt(variance)); };
  // Of a ratio of two runs.
  const double noise = std::hypot(sweep_noise, least.compute_noise);
  return NextMeasurement{least.machine.workers, false, width(covariance(steps, steps)),
                         width(left_of(steps, read, noise)), batch};
}

}  // namespace ddpprof::fit
