#include "analysis/fit/table/row_noise.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "simulator/stats/ratio.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double normal_deviation = 1.4826;  // standard deviation of a normal distribution / median absolute difference
// Mean of the smaller square of two neighbours' deviations if they have different signs, otherwise 0: of normal errors,
// in variances, for N that grow by a constant factor. The deviations then have the correlation -2/3.
constexpr double smaller_square = 0.495;
constexpr double one_sided = 0.4;  // degrees of freedom: 2 mean² / variance of a square that counts with one sign only
constexpr double least_freedom = 2.0;

using StepsByN = std::map<std::int64_t, double>;

// How far ln(time) of the middle one is off the line through its neighbours, in standard deviations of one error.
double deviation(StepsByN::const_iterator middle) {
  const auto before = std::prev(middle), after = std::next(middle);
  const auto x = [](StepsByN::const_iterator at) { return std::log(static_cast<double>(at->first)); };
  const double share = (x(middle) - x(before)) / (x(after) - x(before));
  const double line = (1.0 - share) * std::log(before->second) + share * std::log(after->second);
  return (std::log(middle->second) - line) / std::sqrt(1.0 + share * share + (1.0 - share) * (1.0 - share));
}

struct Squares {
  double sum = 0.0, count = 0.0;
  void add(double square) { sum += square, count += 1.0; }
};

}  // namespace

RowNoise noise_of_repeats(const std::vector<std::vector<double>>& equal) {
  std::vector<double> differences;  // to the median, in standard deviations of a normal distribution
  double freedom = 0.0;
  for (const std::vector<double>& times : equal) {
    const double median = stats::median(times);
    std::vector<double> own;
    for (const double time : times) own.push_back(std::abs(std::log(time / median)));
    std::ranges::sort(own);
    if (own.size() % 2 == 1) own.erase(own.begin());  // the median itself
    // Of an even number, the two in the middle are nearer to their mean than to the truth: by this factor, from normal
    // errors.
    else
      for (double& one : own) one *= std::min(std::numbers::sqrt2, 1.0 + 1.7 / static_cast<double>(own.size()));
    differences.insert(differences.end(), own.begin(), own.end());
    freedom += static_cast<double>(times.size() - 1);
  }
  if (differences.empty()) return {};
  return {normal_deviation * stats::median(differences), freedom};
}

RowNoise noise_of_curves(const std::vector<StepsByN>& curves, const std::vector<StepsAcrossTwoNodes>& across) {
  Squares all;  // of falls and bends, each with a mean of the variance
  for (const StepsByN& curve : curves) {
    for (auto next = curve.begin(); next != curve.end(); ++next)
      if (next != curve.begin())
        all.add(std::pow(std::max(0.0, std::log(std::prev(next)->second / next->second)), 2));
    if (curve.size() < 4) continue;
    for (auto one = std::next(curve.begin()); std::next(one, 2) != curve.end(); ++one) {
      const double first = deviation(one), second = deviation(std::next(one));
      const double smaller = first * second < 0.0 ? std::min(std::abs(first), std::abs(second)) : 0.0;
      all.add(smaller * smaller / smaller_square);
    }
  }
  for (const StepsAcrossTwoNodes& one : across) {
    const bool by_chance = one.more_s < one.two_nodes_s && (one.one_node_s == 0.0 || one.more_s < one.one_node_s);
    all.add(by_chance ? std::pow(std::log(one.two_nodes_s / one.more_s), 2) : 0.0);
    if (one.one_node_s > 0.0) all.add(std::pow(std::max(0.0, std::log(one.one_node_s / one.two_nodes_s)), 2));
  }
  if (all.count == 0.0) return {};
  return {std::sqrt(all.sum / all.count), one_sided * all.count};
}

double widened(const RowNoise& noise) {
  constexpr double normal_95 = 1.645;
  return noise.sd * stats::student_quantile(0.95, std::max(least_freedom, noise.freedom)) / normal_95;
}

}  // namespace ddpprof::fit
