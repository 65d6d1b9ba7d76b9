#include "analysis/predict/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double largest_waiting = 1.6094379124341003;  // ln 5
constexpr double least_drift = 0.05;    // of the waiting's logarithm for each doubling of N beyond the data
constexpr double largest_drift = 0.98;  // of the whole drift: within a factor of five in 90 of 100 cases
constexpr double uncalibrated = 0.3;    // if no measured N shows the waiting

double log2_of(double value) { return std::log(value) / std::log(2.0); }

}  // namespace

Calibrations calibrate(const StepModel& model, const StepParameters& parameters, std::span<const double> levels) {
  const MeasuredJob& job = model.job();
  Calibrations all;
  std::size_t level = 0;
  for (const auto& [workers, profile] : job.profiles()) {
    const double normal = levels.empty() ? 0.0 : levels[level++];
    // Every N is compared on the machine it was measured on, not on the machine that the options ask about.
    const Machine& machine = job.options().dedicated ? job.machine_for(workers) : profile.machine;
    if (job.measured_on(machine) == nullptr) continue;
    const Terms terms = model.terms(step_case(job, machine, {}), parameters);
    const double measured = stats::median(profile.step_s) * std::exp(normal * profile.step_noise);
    const double modelled = terms.step_s();
    if (!(modelled > 0.0 && measured > 0.0)) continue;
    Calibration one;
    one.workers = workers;
    one.ranks_per_machine = machine.ranks_per_machine();
    one.raw = std::log(measured / modelled);
    const double waiting = terms.exposed_s + terms.skew_s;
    const double needed = measured - (modelled - waiting);
    // Waiting of less than a twentieth of the step cannot explain a difference.
    if (waiting > 0.05 * modelled && needed > 0.0) {
      one.waiting = std::clamp(std::log(needed / waiting), -largest_waiting, largest_waiting);
      one.missing_s = waiting * std::expm1(one.waiting);
      if (terms.communication_s > 0.0) one.missed = one.missing_s / terms.communication_s;
    }
    one.step = std::log(measured / (modelled + waiting * (std::exp(one.waiting) - 1.0)));
    one.waiting_less_1 = std::expm1(one.waiting);
    one.step_of_waiting = workers > 1 ? one.step : 0.0;
    one.step_factor = std::exp(one.step);
    one.waiting_step_factor = std::exp(one.step_of_waiting);
    all.push_back(one);
  }
  std::sort(all.begin(), all.end(), [](const Calibration& a, const Calibration& b) {
    return std::pair{a.ranks_per_machine, a.workers} < std::pair{b.ranks_per_machine, b.workers};
  });
  return all;
}

std::vector<double> calibration_weights(const Calibrations& all, const Machine& machine) {
  // Returns the position of `at` between two counts, in the logarithm, from 0 to 1.
  const auto share_of = [](std::int64_t at, std::int64_t low, std::int64_t high) {
    if (at <= low || low >= high) return 0.0;
    if (at >= high) return 1.0;
    return std::log(static_cast<double>(at) / static_cast<double>(low)) /
           std::log(static_cast<double>(high) / static_cast<double>(low));
  };
  struct Level {  // calibrations of one number of ranks per machine, at the machine's N
    std::int64_t ranks_per_machine;
    std::size_t below, above;
    double share;
  };
  std::vector<Level> levels;
  for (std::size_t first = 0; first < all.size();) {
    std::size_t last = first;
    while (last < all.size() && all[last].ranks_per_machine == all[first].ranks_per_machine) ++last;
    std::size_t above = first;
    while (above + 1 < last && all[above].workers < machine.workers) ++above;
    const std::size_t below = above == first ? above : above - 1;
    levels.push_back({all[first].ranks_per_machine, below, above,
                      share_of(machine.workers, all[below].workers, all[above].workers)});
    first = last;
  }
  std::vector<double> weights(all.size(), 0.0);
  const auto add = [&](const Level& level, double weight) {
    weights[level.below] += weight * (1.0 - level.share);
    weights[level.above] += weight * level.share;
  };
  if (levels.empty()) return weights;
  const std::int64_t ranks = machine.ranks_per_machine();
  std::size_t above = 0;
  while (above + 1 < levels.size() && levels[above].ranks_per_machine < ranks) ++above;
  const Level& low = levels[above == 0 ? above : above - 1];
  const double share = share_of(ranks, low.ranks_per_machine, levels[above].ranks_per_machine);
  add(low, 1.0 - share);
  add(levels[above], share);
  return weights;
}

Calibration weighted_mean(const Calibrations& all, const std::vector<double>& weights) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (weights[i] == 1.0) return all[i];  // the usual case beyond the measured data
  Calibration sum;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum.waiting += weights[i] * all[i].waiting;
    sum.missing_s += weights[i] * all[i].missing_s;
    sum.missed += weights[i] * all[i].missed;
    sum.step += weights[i] * all[i].step;
    sum.step_of_waiting += weights[i] * all[i].step_of_waiting;
    sum.raw += weights[i] * all[i].raw;
  }
  sum.waiting_less_1 = std::expm1(sum.waiting);
  sum.step_factor = std::exp(sum.step);
  sum.waiting_step_factor = std::exp(sum.step_of_waiting);
  return sum;
}

Calibration calibration_for(const Calibrations& all, const Machine& machine) {
  return weighted_mean(all, calibration_weights(all, machine));
}

double Drift::sd() const { return std::min(largest_drift, std::hypot(at_start, a_doubling * doublings)); }

Drift drift_of(const MeasuredJob& job, const Calibrations& calibrations, const Machine& machine, bool other_links) {
  // The error of the costs one step beyond the N they were fitted to, or at those N if no N could be held out.
  Drift drift{least_drift};
  const Models& models = job.models();
  if (!job.is_ddp()) {
    drift.a_doubling = std::max(drift.a_doubling, std::log1p(models.copies.solution.median_relative_error));
  } else if (!models.all_reduce.forms.empty() && !other_links) {
    drift.a_doubling = std::max(drift.a_doubling, std::log1p(models.all_reduce.picked().beyond_error));
  }
  const auto doublings_beyond = [&](std::int64_t workers) {
    return std::max(0.0, log2_of(static_cast<double>(machine.workers) / static_cast<double>(workers)));
  };
  if (calibrations.empty()) {
    drift.at_start = uncalibrated;
    drift.doublings = doublings_beyond(job.largest_measured());
    return drift;
  }
  // The drift starts at the measured N with the nearest number of ranks per machine. Ties go to the largest N.
  std::size_t index = 0;
  const auto apart = [&](const Calibration& one) {
    return std::abs(
        log2_of(static_cast<double>(machine.ranks_per_machine()) / static_cast<double>(one.ranks_per_machine)));
  };
  for (std::size_t i = 1; i < calibrations.size(); ++i) {
    if (apart(calibrations[i]) <= apart(calibrations[index])) index = i;
  }
  const Calibration& last = calibrations[index];
  drift.doublings = doublings_beyond(last.workers);
  if (other_links) return drift;
  // A correction that grew from one measured N to the next may go on growing. One N > 1 shows no growth.
  drift.a_doubling = std::max(drift.a_doubling, 0.25 * std::abs(last.waiting));
  if (index >= 1 && calibrations[index - 1].workers > 1 && calibrations[index - 1].workers < last.workers) {
    const Calibration& before = calibrations[index - 1];
    const double steps = log2_of(static_cast<double>(last.workers) / static_cast<double>(before.workers));
    drift.a_doubling = std::max(drift.a_doubling, std::abs(last.waiting - before.waiting) / steps);
  }
  return drift;
}

Terms calibrated(Terms terms, const Calibration& calibration, double drift, bool other_links) {
  const double step = calibration.step_factor;
  const double waiting_s = terms.exposed_s + terms.skew_s;
  double correction_s = waiting_s * calibration.waiting_less_1;
  const double by_communication_s = calibration.missed * terms.communication_s;
  if (std::abs(by_communication_s) < std::abs(correction_s)) correction_s = by_communication_s;
  if (other_links && std::abs(calibration.missing_s) < std::abs(correction_s)) correction_s = calibration.missing_s;
  double waiting = calibration.waiting_step_factor;
  if (waiting_s > 0.0) waiting = waiting * (drift == 0.0 ? 1.0 : std::exp(drift)) * (1.0 + correction_s / waiting_s);
  for (double* part : {&terms.compute_s, &terms.host_s, &terms.host_gap_s, &terms.other_s, &terms.input_s})
    *part *= step;
  for (double* part : {&terms.exposed_s, &terms.skew_s, &terms.communication_s, &terms.latency_s, &terms.bandwidth_s}) {
    *part *= waiting;
  }
  return terms;
}

double largest_correction(const Calibrations& calibrations, std::int64_t workers) {
  double largest = 1.0;
  for (const Calibration& one : calibrations) {
    if (one.workers == workers) largest = std::exp(std::max(std::abs(one.waiting), std::abs(one.step)));
  }
  return largest;
}

}  // namespace ddpprof::fit
