#include "analysis/fit/posterior.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddpprof::fit {
namespace {

constexpr int proposals_per_draw = 8;

struct Proposal {
  std::vector<double> values;
  double log_weight = 0.0;
};

std::size_t free_parameters(const Problem& problem, const Solution& solution) {
  std::size_t free = 0;
  for (std::size_t i = 0; i < problem.parameters.size(); ++i)
    free += !problem.parameters[i].fixed && !solution.at_bound[i];
  return free;
}

double logarithm_of_posterior(const Problem& problem, const Solution& solution, const std::vector<double>& values) {
  double sum = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Parameter& parameter = problem.parameters[i];
    if (parameter.fixed) continue;
    const double x = parameter.logarithmic ? std::log(values[i]) : values[i];
    sum += std::pow((x - parameter.prior) / parameter.prior_sd, 2);
  }
  std::vector<double> fitted(problem.measured.size());
  for (std::size_t point = 0; point < problem.measured.size(); ++point) {
    const std::size_t first = problem.first_equal.empty() ? point : problem.first_equal[point];
    fitted[point] = first == point ? problem.model(values, point) : fitted[first];
    const double residual = std::log(fitted[point] / problem.measured[point]) /
                            (problem.sd[point] * solution.residual_scale);
    sum += huber(residual);
  }
  return std::isfinite(sum) ? -0.5 * sum : -std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<std::vector<double>> posterior_draws(const Problem& problem, const Solution& solution, int count,
                                                 stats::Random& random) {
  // The solution's covariance has rank `free`: the first normal draws are those that it uses.
  const std::size_t free = free_parameters(problem, solution);
  std::vector<Proposal> proposals(static_cast<std::size_t>(count) * proposals_per_draw);
  double largest = -std::numeric_limits<double>::infinity();
  for (Proposal& one : proposals) {
    std::vector<double> normals(problem.parameters.size());
    double squares = 0.0;
    for (std::size_t i = 0; i < normals.size(); ++i) {
      normals[i] = random.normal();
      if (i < free) squares += normals[i] * normals[i];
    }
    one.values = draw(problem, solution, normals);
    one.log_weight = logarithm_of_posterior(problem, solution, one.values) + 0.5 * squares;
    largest = std::max(largest, one.log_weight);
  }
  std::vector<double> weights;
  double total = 0.0;
  for (const Proposal& one : proposals) {
    weights.push_back(std::exp(one.log_weight - largest));
    total += weights.back();
  }
  const double limit = total / std::sqrt(static_cast<double>(proposals.size()));
  total = 0.0;
  for (double& weight : weights) total += weight = std::min(weight, limit);
  // Systematic resampling.
  std::vector<std::vector<double>> draws;
  const double step = total / count;
  double next = step * random.uniform(), sum = 0.0;
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    sum += weights[i];
    for (; next < sum && draws.size() < static_cast<std::size_t>(count); next += step) draws.push_back(proposals[i].values);
  }
  while (draws.size() < static_cast<std::size_t>(count)) draws.push_back(proposals.back().values);
  return draws;
}

}  // namespace ddpprof::fit
