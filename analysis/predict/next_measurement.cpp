#include "analysis/predict/next_measurement.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "analysis/predict/predictor.hpp"
#include "analysis/predict/step_model/batch_change.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double least_noise = 0.01;     // relative standard error assumed for every measured step, at least
constexpr double sweep_noise = 0.02;     // of bench-comm's times, and of the ratio of two batches' times
constexpr double worth_saying = 0.8;     // a measurement must reduce the interval's width to this share
constexpr double nearly_as_good = 0.75;  // a cheaper measurement is named if it has this share of the best one's gain
constexpr std::int64_t furthest = 8;     // the largest N considered, as a multiple of the largest measured N
constexpr double small_bytes = 1 << 10, large_bytes = 16 << 20;

double covariance(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = stats::mean(a), mean_b = stats::mean(b);
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum / static_cast<double>(a.size() - 1);
}

// Returns the variance of y after x was measured with this noise.
double left_of(const std::vector<double>& y, const std::vector<double>& x, double noise) {
  const double both = covariance(y, x);
  return std::max(0.0, covariance(y, y) - both * both / (covariance(x, x) + noise * noise));
}

// The same after x1 and x2 were measured.
double left_of(const std::vector<double>& y, const std::vector<double>& x1, const std::vector<double>& x2,
               double noise) {
  const double a = covariance(x1, x1) + noise * noise, b = covariance(x1, x2), c = covariance(x2, x2) + noise * noise;
  const double u = covariance(y, x1), v = covariance(y, x2), det = a * c - b * b;
  return std::max(0.0, covariance(y, y) - (c * u * u - 2.0 * b * u * v + a * v * v) / det);
}

// Returns the logarithm of each sample's step, without drift.
std::vector<double> log_steps(const Predictor& predictor, std::int64_t workers) {
  const PreparedModel& prepared = predictor.prepared();
  std::vector<double> logs = prepared.samples.steps_s(prepared.model.case_at(workers), 0.0);
  for (double& value : logs) value = std::log(value);
  return logs;
}

}  // namespace

std::optional<NextMeasurement> best_measurement(const std::vector<NextMeasurement>& candidates) {
  const auto best = std::ranges::min_element(candidates, {}, &NextMeasurement::then);
  if (best == candidates.end() || best->then > worth_saying * best->now) return std::nullopt;
  const double gain = best->now - best->then;
  return *std::ranges::find_if(candidates,
                               [&](const NextMeasurement& one) { return one.now - one.then >= nearly_as_good * gain; });
}

std::optional<NextMeasurement> next_measurement(const Predictor& predictor, std::int64_t workers) {
  const MeasuredJob& job = predictor.job();
  const AllReduceFit& all_reduce = job.models().all_reduce;
  const std::vector<Sample>& samples = predictor.prepared().samples.samples();
  const StepCase asked = predictor.prepared().model.case_at(workers);
  const Machine& machine = asked.machine;
  if (asked.measured || samples.size() < 3) return std::nullopt;
  // A measurement on the measured links does not narrow the range of other links (links_note has the advice).
  if (asked.link_range) return std::nullopt;
  const std::vector<double> steps = log_steps(predictor, workers);
  // Derivative of the step's logarithm with respect to the drift of the waiting.
  constexpr double nudge = 0.05;
  const auto drifted = [&](double by) { return std::log(predictor.modelled(asked, by).step_s()); };
  const double reach = (drifted(nudge) - drifted(-nudge)) / (2.0 * nudge);
  const Drift now = drift_of(job, predictor.prepared().calibrations, machine);
  const auto width = [&](double variance, double drift_sd) {
    const double z = stats::normal_quantile(0.5 + 0.5 * job.options().confidence);
    return std::expm1(z * std::hypot(std::sqrt(variance), reach * drift_sd));
  };
  const double now_width = width(covariance(steps, steps), now.sd());

  std::vector<NextMeasurement> candidates;  // cheapest first
  const bool swept = (!all_reduce.forms.empty() && all_reduce.picked().form.curves) ||
                     std::any_of(all_reduce.points.begin(), all_reduce.points.end(),
                                 [](const CollectivePoint& point) { return point.bench; });
  if (job.is_ddp() && !swept && !all_reduce.forms.empty() && workers > 1) {
    const std::int64_t among = std::max<std::int64_t>(2, job.largest_measured());
    const Machine there = job.machine_for(among);
    std::vector<double> small, large;
    for (const Sample& sample : samples) {
      const StepParameters& one = sample.parameters;
      const auto time = [&](double bytes) {
        return std::log(one.form->cost(there, static_cast<std::int64_t>(bytes), one.link).total_s());
      };
      small.push_back(time(small_bytes));
      large.push_back(time(large_bytes));
    }
    candidates.push_back({among, true, now_width, width(left_of(steps, small, large, sweep_noise), now.sd())});
  }
  double noise = least_noise;
  for (const auto& [measured, profile] : job.profiles()) noise = std::max(noise, profile.step_noise);
  for (std::int64_t at = 1; at < workers && at <= furthest * job.largest_measured(); at *= 2) {
    if (job.measured_on(job.machine_for(at)) != nullptr || predictor.refusal(at)) continue;
    const double left = left_of(steps, log_steps(predictor, at), noise);
    // The drift starts anew at the added N, and a model that is not calibrated yet will be calibrated there.
    const double beyond = std::log2(static_cast<double>(workers) / static_cast<double>(at));
    const double drift_left = at > 1 ? std::min(now.sd(), now.a_doubling * std::min(now.doublings, beyond)) : now.sd();
    candidates.push_back({at, false, now_width, width(left, drift_left)});
  }
  return best_measurement(candidates);
}

std::optional<NextMeasurement> next_batch(const Predictor& predictor, std::int64_t workers, const WhatIf& change) {
  const MeasuredJob& job = predictor.job();
  const MonteCarlo& drawn = predictor.prepared().samples;
  const std::vector<Sample>& samples = drawn.samples();
  const StepCase asked = predictor.prepared().model.case_at(workers, change);
  if (batch_ratio(*asked.profile, change) == 1.0 || samples.size() < 3) return std::nullopt;
  if (asked.link_range) return std::nullopt;  // the links make the interval wide, and no batch shows them
  const std::int64_t batch = *change.batch_per_worker;
  const BatchFit& fit = job.compute().batch;
  if (fit.usable && std::ranges::find(fit.batches, batch) != fit.batches.end()) return std::nullopt;
  if (const auto refused = change_refusal_at(job, workers, change)) throw std::invalid_argument(refused->reason);
  // Each rank computes its own micro-batch, so the smallest measured N shows as much as any other and costs least.
  const StepProfile& least = job.profiles().begin()->second;
  std::vector<double> steps = drawn.steps_s(asked, drift_sd(predictor, asked), drawn.count_for(change)), read;
  for (double& value : steps) value = std::log(value);
  for (std::size_t i = 0; i < steps.size(); ++i)
    read.push_back(std::log(batch_factor(fit, least, change, samples[i].parameters)));
  const double z = stats::normal_quantile(0.5 + 0.5 * job.options().confidence);
  const auto width = [&](double variance) { return std::expm1(z * std::sqrt(variance)); };
  // Noise of the ratio of two runs.
  const double noise = std::hypot(sweep_noise, least.compute_noise);
  const NextMeasurement next{least.machine.workers, false, width(covariance(steps, steps)),
                             width(left_of(steps, read, noise)), batch};
  return next.then >= worth_saying * next.now ? std::nullopt : std::optional(next);
}

}  // namespace ddpprof::fit
