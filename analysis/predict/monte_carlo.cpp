#include "analysis/predict/monte_carlo.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double straggler_spread = 0.3;   // of the logarithm: the noise itself is known to about a third
constexpr double host_power_spread = 0.9;  // of the logarithm of p - 1: nine in ten of p between 1.6 and 12

struct Draw {
  StepParameters parameters;
  double drift = 0.0;
  std::vector<double> levels;  // standard normal, for each measured N's median step
};

std::vector<double> normals(stats::Random& random, std::size_t count) {
  std::vector<double> values(count);
  for (double& value : values) value = random.normal();
  return values;
}

// The order of the random numbers is part of the results: a change of it changes every interval.
std::vector<Draw> draw_parameters(const MeasuredJob& job) {
  const PredictOptions& options = job.options();
  const Models& models = job.models();
  const ComputeFit& compute = job.compute();
  const CopyFit& copies = models.copies;
  stats::Random random(options.seed);
  std::vector<Draw> all(static_cast<std::size_t>(options.draws));
  for (Draw& one : all) {
    StepParameters& to = one.parameters;
    double share = random.uniform();
    for (const FormFit& form : models.all_reduce.forms) {
      to.form = &form;
      share -= form.weight;
      if (share <= 0.0) break;
    }
    if (to.form) to.link = draw(to.form->problem, to.form->solution, normals(random, to.form->solution.x.size()));
    if (!compute.solution.x.empty())
      to.compute = draw(compute.problem, compute.solution, normals(random, compute.solution.x.size()));
    if (!copies.solution.x.empty())
      to.copies = draw(copies.problem, copies.solution, normals(random, copies.solution.x.size()));
    to.profile = random.normal();
    to.straggler = std::exp(random.normal() * straggler_spread);
    one.drift = random.normal();
    to.batch = random.normal();
    one.levels = normals(random, job.profiles().size());
  }
  return all;
}

// Uses random numbers of its own, so that the other parameters' draws are the same with one batch and with several.
void draw_batch_laws(const BatchFit& batch, std::uint64_t seed, std::vector<Draw>& all) {
  if (!batch.usable) return;
  stats::Random random(seed ^ 0x9e3779b97f4a7c15U);
  for (Draw& one : all) {
    StepParameters& to = one.parameters;
    double share = random.uniform();
    for (const BatchLaw& law : batch.laws) {
      if (!(law.weight > 0.0)) break;  // laws are sorted by weight, the largest first
      to.batch_law = &law;
      share -= law.weight;
      if (share <= 0.0) break;
    }
    const std::vector<double> own = normals(random, to.batch_law->solution.x.size());
    to.batch_own = draw(to.batch_law->problem, to.batch_law->solution, own).front();
  }
}

// Uses random numbers of its own, as the batch laws do.
void draw_host_powers(std::uint64_t seed, std::vector<Draw>& all) {
  stats::Random random(seed ^ 0xd1b54a32d192ed03U);
  for (Draw& one : all)
    one.parameters.host_power = 1.0 + (step::usual_host_power - 1.0) * std::exp(random.normal() * host_power_spread);
}

// Uses random numbers of its own, as the batch laws do. Each end has a sixth of the draws, so that 90 % intervals contain
// both: all of the time occurs once a step, or once a micro-batch.
void draw_gap_growths(std::uint64_t seed, std::vector<Draw>& all) {
  stats::Random random(seed ^ 0x2545f4914f6cdd1dU);
  for (Draw& one : all) one.parameters.gap_growth = std::clamp(1.5 * random.uniform() - 0.25, 0.0, 1.0);
}

bool same_places(const Calibrations& a, const Calibrations& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Calibration& one, const Calibration& other) {
    return one.workers == other.workers && one.ranks_per_machine == other.ranks_per_machine;
  });
}

}  // namespace

std::size_t MonteCarlo::count_for(const WhatIf& change) const {
  return change.strategy.empty() ? samples_.size() : samples_of_strategies;
}

std::vector<double> MonteCarlo::steps_s(const StepCase& at, double drift_sd, std::size_t most) const {
  const std::size_t count = std::min(most, samples_.size());
  std::vector<const StepParameters*> parameters;
  parameters.reserve(count);
  for (std::size_t i = 0; i < count; ++i) parameters.push_back(&samples_[i].parameters);
  const std::vector<Terms> modelled = model_.terms(at, parameters);
  std::vector<double> steps_s;
  if (count == 0) return steps_s;
  // Nearly all samples are calibrated at the same places: they share the weights.
  const Calibrations& first = samples_.front().calibrations;
  const std::vector<double> shared = calibration_weights(first, at.machine);
  steps_s.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Calibrations& own = samples_[i].calibrations;
    const Calibration here = same_places(own, first) ? weighted_mean(own, shared) : calibration_for(own, at.machine);
    const double drift = drift_sd > 0.0 ? samples_[i].drift * drift_sd : 0.0;
    steps_s.push_back(with_all_work(calibrated(modelled[i], here, drift, at.link_range.has_value()), at).step_s());
  }
  return steps_s;
}

MonteCarlo draw_samples(const StepModel& model) {
  std::vector<Draw> draws = draw_parameters(model.job());
  draw_batch_laws(model.job().compute().batch, model.job().options().seed, draws);
  draw_host_powers(model.job().options().seed, draws);
  draw_gap_growths(model.job().options().seed, draws);
  std::vector<Sample> samples;
  samples.reserve(draws.size());
  for (Draw& one : draws) {
    Calibrations own = calibrate(model, one.parameters, one.levels);
    samples.push_back({std::move(one.parameters), one.drift, std::move(own)});
  }
  return {model, std::move(samples)};
}

stats::Interval interval_of(const std::vector<double>& steps_s, double confidence, double least_s) {
  stats::Interval interval;
  const double tail = (1.0 - confidence) / 2.0;
  const auto [low, high] = stats::quantiles(steps_s, tail, 1.0 - tail);
  interval.low = std::max(low, least_s);
  interval.high = high;
  interval.achieved_confidence = confidence;
  return interval;
}

}  // namespace ddpprof::fit
