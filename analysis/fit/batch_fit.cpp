#include "analysis/fit/batch_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "analysis/fit/text.hpp"

namespace ddpprof::fit {
namespace {

constexpr double batch_least_sd = 0.02;
constexpr double noise_of_a_contradiction = 3.0;  // standard errors
constexpr double largest_exponent = 2.0;
constexpr double batch_largest_usable_error = 0.35;
constexpr double least_share = -0.5, largest_share = 1.2;  // of a fitted fixed part: noise may carry it out of 0 to 1
constexpr std::size_t own = 0, first_level = 1;

double sd_of(const BatchPoint& point) { return std::hypot(batch_least_sd, point.noise); }

std::set<std::int64_t> batches_of(const std::vector<BatchPoint>& points) {
  std::set<std::int64_t> batches;
  for (const BatchPoint& point : points) batches.insert(point.batch);
  return batches;
}

// Returns true if the law's own parameter can be determined.
bool has_two_at_one_level(const std::vector<BatchPoint>& points) {
  std::map<std::int64_t, std::set<std::int64_t>> levels;
  for (const BatchPoint& point : points) levels[point.level].insert(point.batch);
  return std::ranges::any_of(levels, [](const auto& level) { return level.second.size() > 1; });
}

BatchLaw fit_law(bool line, const std::vector<BatchPoint>& points) {
  BatchLaw law;
  law.line = line;
  const std::set<std::int64_t> batches = batches_of(points);
  law.middle = std::sqrt(static_cast<double>(*batches.begin()) * static_cast<double>(*batches.rbegin()));
  law.problem.parameters = {
      line ? Parameter{"fixed_share", "", 0.2, 0.4, least_share, largest_share, false}
           : Parameter{"batch_exponent", "", 1.0, batch_exponent_sd, 0.0, largest_exponent, false}};
  std::map<std::int64_t, std::size_t> levels;
  std::vector<std::size_t> level_of;
  for (const BatchPoint& point : points) {
    const auto [level, added] = levels.try_emplace(point.level, first_level + levels.size());
    if (added)
      law.problem.parameters.push_back(
          {"passes", "s", std::log(point.passes_s * law.middle / static_cast<double>(point.batch)), 3.0, -40.0, 40.0});
    level_of.push_back(level->second);
    law.problem.measured.push_back(point.passes_s);
    law.problem.sd.push_back(sd_of(point));
  }
  BatchLaw shape;  // a copy of the law before its problem and solution are set
  shape.line = line;
  shape.middle = law.middle;
  law.problem.model = [points, shape, level_of](std::span<const double> values, std::size_t index) {
    return values[level_of[index]] * shape.growth(static_cast<double>(points[index].batch), values[own]);
  };
  law.solution = solve(law.problem);
  return law;
}

// Distance of a law from the measurements and from its prior, in squared standard errors.
double surprise(const BatchLaw& law) {
  const Parameter& parameter = law.problem.parameters[own];
  const double off = (law.solution.x[own] - parameter.prior) / parameter.prior_sd;
  return 2.0 * law.solution.cost + off * off;
}

void weigh(std::vector<BatchLaw>& laws) {
  std::vector<double> scores;
  for (const BatchLaw& law : laws)
    scores.push_back(law.solution.converged ? surprise(law) : std::numeric_limits<double>::infinity());
  const std::size_t best = static_cast<std::size_t>(std::ranges::min_element(scores) - scores.begin());
  if (!laws[best].solution.converged) return;
  // If even the better law differs from the measurements by more than the noise, the difference between the laws counts
  // less.
  const double scale = laws[best].solution.residual_scale;
  double total = 0.0;
  for (std::size_t i = 0; i < laws.size(); ++i) {
    laws[i].excess_aicc = (scores[i] - scores[best]) / (scale * scale);
    laws[i].weight = std::exp(-0.5 * laws[i].excess_aicc);
    total += laws[i].weight;
  }
  for (BatchLaw& law : laws) law.weight /= total;
  std::ranges::stable_sort(laws, std::greater<>(), &BatchLaw::weight);
}

std::string at_level(const BatchPoint& point) {
  return point.level == 0 ? " on GPUs of their own" : " at N = " + std::to_string(point.workers);
}

// Returns an impossible pair of measurements: more samples in less time, or in more than the square of their number.
std::string contradiction(const std::vector<BatchPoint>& points) {
  for (const BatchPoint& small : points) {
    for (const BatchPoint& large : points) {
      if (large.level != small.level || large.batch <= small.batch) continue;
      const double noise = noise_of_a_contradiction * std::hypot(sd_of(small), sd_of(large));
      const double grown = std::log(large.passes_s / small.passes_s);
      const double samples = std::log(static_cast<double>(large.batch) / static_cast<double>(small.batch));
      const std::string what = "forward and backward took " + time_text(small.passes_s) + " with a batch of " +
                               std::to_string(small.batch) + " and " + time_text(large.passes_s) + " with " +
                               std::to_string(large.batch) + at_level(small);
      if (grown < -noise) return what + ": a larger batch cannot take less time";
      if (grown > largest_exponent * samples + noise)
        return what + ": the time grew faster than the square of the batch";
    }
  }
  return "";
}

std::string list_of(const std::vector<std::int64_t>& batches) {
  std::string text;
  for (const std::int64_t batch : batches) text += (text.empty() ? "" : ", ") + std::to_string(batch);
  return text;
}

std::string law_text(const BatchFit& fit, const BatchLaw& law) {
  if (!law.line) {
    return "the batch to the power of " + number_text(law.solution.values[own]) + " ± " +
           number_text(law.solution.x_sd[own]);
  }
  const BatchParameters costs = fit.parameters();
  return time_text(costs.values[0]) + " + " + time_text(costs.values[1]) + " per sample" + at_level(fit.points.front());
}

std::string reason(const BatchFit& fit) {
  const BatchLaw& other = fit.laws[1];
  if (!other.solution.converged) return "the other law's fit did not converge";
  const std::string far = other.line ? "a fixed share of " + percent(std::max(0.0, other.solution.values[own]))
                                     : "the batch to the power of " + number_text(other.solution.values[own]);
  std::string text = "AICc lower by " + number_text(other.excess_aicc) + " than for " + far;
  if (fit.batches.size() == 2) text += ", a choice that follows from the prior only: two batches fit both laws";
  return text;
}

}  // namespace

double BatchLaw::growth(double batch, double own_value) const {
  const double times = batch / middle;
  if (!line) return std::pow(times, std::max(0.0, own_value));
  const double share = std::min(1.0, own_value), grown = share + (1.0 - share) * times;
  // Limits a fixed part below 0: a small batch takes at least half of what its samples take.
  return share < 0.0 ? std::max(grown, 0.5 * times) : grown;
}

double BatchFit::ratio(double from, double to) const {
  const BatchLaw& law = laws.front();
  return law.growth(to, law.solution.values[own]) / law.growth(from, law.solution.values[own]);
}

double BatchFit::beyond(double batch) const {
  const auto least = static_cast<double>(batches.front()), most = static_cast<double>(batches.back());
  return std::max({0.0, std::log(least / batch), std::log(batch / most)});
}

BatchParameters BatchFit::parameters() const {
  if (laws.empty()) return {};
  const BatchLaw& law = laws.front();
  const Solution& solution = law.solution;
  const std::size_t count = solution.x.size();
  const auto covariance = [&](std::size_t i, std::size_t j) { return solution.x_covariance[i * count + j]; };
  if (!law.line) return {{"batch_exponent"}, {""}, {solution.values[own]}, {covariance(own, own)}};
  // From the share and the logarithm of the time at the middle to the line's two parts, by their derivatives.
  const double time_s = solution.values[first_level], share = solution.values[own];
  const double fixed[2] = {time_s, time_s * share};
  const double sample[2] = {-time_s / law.middle, time_s * (1.0 - share) / law.middle};
  const auto between = [&](const double(&a)[2], const double(&b)[2]) {
    double sum = 0.0;
    for (std::size_t i : {own, first_level})
      for (std::size_t j : {own, first_level}) sum += a[i] * b[j] * covariance(i, j);
    return sum;
  };
  return {{"compute_fixed", "compute_sample"},
          {"s", "s"},
          {time_s * share, time_s * (1.0 - share) / law.middle},
          {between(fixed, fixed), between(fixed, sample), between(sample, fixed), between(sample, sample)}};
}

BatchFit fit_batches(std::vector<BatchPoint> points) {
  BatchFit fit;
  if (!has_two_at_one_level(points)) return fit;
  std::ranges::sort(points, {}, [](const BatchPoint& point) { return std::pair{point.level, point.batch}; });
  const std::set<std::int64_t> batches = batches_of(points);
  fit.points = std::move(points);
  fit.batches.assign(batches.begin(), batches.end());
  if (const std::string what = contradiction(fit.points); !what.empty()) {
    fit.status = "not usable: " + what;
    return fit;
  }
  for (const bool line : {false, true}) fit.laws.push_back(fit_law(line, fit.points));
  weigh(fit.laws);
  const BatchLaw& picked = fit.laws.front();
  double worst = 0.0;
  for (std::size_t i = 0; i < fit.points.size(); ++i)
    worst = std::max(worst, std::expm1(std::abs(std::log(picked.solution.fitted[i] / fit.points[i].passes_s))));
  if (!picked.solution.converged)
    fit.status =
        "not usable: no law could be fitted to batches " + list_of(fit.batches) + " (" + picked.solution.message + ")";
  else if (worst > batch_largest_usable_error)
    fit.status = "not usable: off by " + percent(worst) + " at one of the batches " + list_of(fit.batches) +
                 ", at most " + percent(batch_largest_usable_error) + " accepted";
  else
    fit.usable = true;
  if (!fit.usable) {
    fit.laws.clear();
    return fit;
  }
  fit.status = law_text(fit, picked) + ", fitted to batches " + list_of(fit.batches) + ": " + reason(fit);
  return fit;
}

}  // namespace ddpprof::fit
