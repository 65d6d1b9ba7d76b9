#include "analysis/fit/least_squares.hpp"

#include <ceres/ceres.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double settled = 1e-5;  // share of the cost: far below the noise of any measurement

constexpr double huber_at = 2.0;

std::vector<double> values_of(const std::vector<Parameter>& parameters, std::span<const double> x) {
  std::vector<double> values(parameters.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = parameters[i].logarithmic ? std::exp(x[i]) : x[i];
  return values;
}

// One point's residual as a function of all parameters, for Ceres' numeric differentiation.
struct PointResidual {
  const Problem* problem;
  std::size_t point;

  bool operator()(double const* const* x, double* residual) const {
    const double value = problem->model(values_of(problem->parameters, {x[0], problem->parameters.size()}), point);
    if (!(value > 0.0) || !std::isfinite(value)) return false;
    residual[0] = (std::log(value) - std::log(problem->measured[point])) / problem->sd[point];
    return true;
  }
};

struct PriorResidual {
  std::size_t index;
  std::size_t count;
  double centre;
  double sd;

  bool operator()(double const* const* x, double* residual) const {
    residual[0] = (x[0][index] - centre) / sd;
    return true;
  }
};

template <class Functor>
ceres::CostFunction* numeric(Functor functor, std::size_t parameters) {
  auto* cost = new ceres::DynamicNumericDiffCostFunction<Functor, ceres::CENTRAL>(new Functor(functor));
  cost->AddParameterBlock(static_cast<int>(parameters));
  cost->SetNumResiduals(1);
  return cost;
}

void build(ceres::Problem& ceres_problem, const Problem& problem, std::vector<double>& x,
           const std::vector<int>& constant) {
  const std::size_t count = problem.parameters.size();
  ceres_problem.AddParameterBlock(x.data(), static_cast<int>(count));
  for (std::size_t point = 0; point < problem.measured.size(); ++point) {
    ceres_problem.AddResidualBlock(numeric(PointResidual{&problem, point}, count), new ceres::HuberLoss(huber_at),
                                   x.data());
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Parameter& parameter = problem.parameters[i];
    if (!parameter.fixed) {
      ceres_problem.AddResidualBlock(numeric(PriorResidual{i, count, parameter.prior, parameter.prior_sd}, count),
                                     nullptr, x.data());
    }
    ceres_problem.SetParameterLowerBound(x.data(), static_cast<int>(i), parameter.lower);
    ceres_problem.SetParameterUpperBound(x.data(), static_cast<int>(i), parameter.upper);
  }
  if (constant.size() == count) {
    ceres_problem.SetParameterBlockConstant(x.data());
  } else if (!constant.empty()) {
    ceres_problem.SetManifold(x.data(), new ceres::SubsetManifold(static_cast<int>(count), constant));
  }
}

// Sets the solution's covariance at its x. Returns false if it cannot be computed.
bool covariance_of(const Problem& problem, Solution& solution, const std::vector<int>& constant) {
  std::vector<double> x = solution.x;
  ceres::Problem ceres_problem;
  build(ceres_problem, problem, x, constant);
  ceres::Covariance::Options options;
  options.algorithm_type = ceres::DENSE_SVD;
  options.null_space_rank = -1;
  options.num_threads = 1;
  ceres::Covariance covariance(options);
  const std::vector<std::pair<const double*, const double*>> blocks = {{x.data(), x.data()}};
  return covariance.Compute(blocks, &ceres_problem) &&
         covariance.GetCovarianceBlock(x.data(), x.data(), solution.x_covariance.data());
}

}  // namespace

double huber(double residual) {
  const double size = std::abs(residual);
  return size <= huber_at ? size * size : 2.0 * huber_at * size - huber_at * huber_at;
}

Solution solve(const Problem& problem) {
  const std::size_t count = problem.parameters.size();
  Solution solution;
  std::vector<int> fixed;
  for (std::size_t i = 0; i < count; ++i) {
    const Parameter& parameter = problem.parameters[i];
    solution.x.push_back(std::clamp(parameter.prior, parameter.lower, parameter.upper));
    if (parameter.fixed) fixed.push_back(static_cast<int>(i));
  }
  {
    ceres::Problem ceres_problem;
    build(ceres_problem, problem, solution.x, fixed);
    ceres::Solver::Options options;
    options.linear_solver_type = ceres::DENSE_QR;
    options.minimizer_type = ceres::TRUST_REGION;
    options.max_num_iterations = problem.max_iterations;
    options.function_tolerance = 1e-12;
    options.parameter_tolerance = 1e-12;
    options.num_threads = 1;
    options.logging_type = ceres::SILENT;
    ceres::Solver::Summary summary;
    ceres::Solve(options, &ceres_problem, &summary);
    solution.converged = summary.termination_type == ceres::CONVERGENCE;
    // At a kink of a form, steps may shrink without end. A solution that the same number of further steps does not
    // improve is accepted. Points that contradict each other lie on the flat side of the loss, where steps are small.
    constexpr int most_rounds = 10;
    for (int round = 0; round < most_rounds && summary.termination_type == ceres::NO_CONVERGENCE; ++round) {
      const double before = summary.final_cost;
      ceres::Solve(options, &ceres_problem, &summary);
      solution.converged =
          summary.termination_type == ceres::CONVERGENCE ||
          (summary.termination_type == ceres::NO_CONVERGENCE && before - summary.final_cost <= settled * before);
      if (solution.converged) break;
    }
    solution.message = summary.message;
  }

  // A parameter at a bound has no curvature. It is fixed while the covariance of the others is computed.
  std::vector<int> constant = fixed;
  for (std::size_t i = 0; i < count; ++i) {
    const Parameter& parameter = problem.parameters[i];
    const double margin = 1e-6 * std::max(1.0, std::abs(solution.x[i]));
    const bool bound = solution.x[i] <= parameter.lower + margin || solution.x[i] >= parameter.upper - margin;
    solution.at_bound.push_back(bound && !parameter.fixed);
    if (solution.at_bound[i]) constant.push_back(static_cast<int>(i));
  }
  std::sort(constant.begin(), constant.end());

  solution.values = values_of(problem.parameters, solution.x);
  std::vector<double> absolute, standardised;
  for (std::size_t point = 0; point < problem.measured.size(); ++point) {
    solution.fitted.push_back(problem.model(solution.values, point));
    absolute.push_back(std::abs(solution.fitted[point] / problem.measured[point] - 1.0));
    const double residual = (std::log(solution.fitted[point]) - std::log(problem.measured[point])) / problem.sd[point];
    standardised.push_back(std::abs(residual));
    const double s = residual * residual;
    solution.cost += 0.5 * (s <= huber_at * huber_at ? s : 2.0 * huber_at * std::sqrt(s) - huber_at * huber_at);
  }
  if (!absolute.empty()) solution.median_relative_error = stats::median(absolute);
  solution.x_covariance.assign(count * count, 0.0);
  bool known = !solution.converged || constant.size() == count || covariance_of(problem, solution, constant);
  solution.freedom = static_cast<double>(problem.measured.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (std::find(constant.begin(), constant.end(), static_cast<int>(i)) != constant.end()) continue;
    const double sd = problem.parameters[i].prior_sd;
    solution.freedom -= std::clamp(1.0 - solution.x_covariance[i * count + i] / (sd * sd), 0.0, 1.0);
  }
  // Below half a degree of freedom, the residuals do not show the scatter.
  if (solution.freedom >= 0.5) {
    solution.residual_scale = std::max(1.0, std::sqrt(2.0 * solution.cost / solution.freedom));
  }
  if (known && solution.residual_scale > 1.0 && solution.converged && constant.size() < count) {
    // Residuals larger than `sd` are caused by the points, not by the priors, so the points' weights are reduced.
    Problem scaled = problem;
    for (double& sd : scaled.sd) sd *= solution.residual_scale;
    known = covariance_of(scaled, solution, constant);
  }
  if (!known) {
    solution.converged = false;
    solution.message += "; no covariance";
  }
  for (std::size_t i = 0; i < count; ++i) {
    solution.x_sd.push_back(std::sqrt(std::max(0.0, solution.x_covariance[i * count + i])));
    const Parameter& parameter = problem.parameters[i];
    const bool free = !parameter.fixed && !solution.at_bound[i];
    solution.identified.push_back(free && solution.x_sd[i] < 0.5 * parameter.prior_sd);
  }
  return solution;
}

std::vector<double> draw(const Problem& problem, const Solution& solution, std::span<const double> normals) {
  const auto count = static_cast<Eigen::Index>(solution.x.size());
  const Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> covariance(
      solution.x_covariance.data(), count, count);
  // LDLT, because held parameters leave zero rows.
  const Eigen::LDLT<Eigen::MatrixXd> factor{Eigen::MatrixXd(covariance)};
  Eigen::VectorXd z(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    z(i) = std::sqrt(std::max(0.0, factor.vectorD()(i))) * normals[static_cast<std::size_t>(i)];
  }
  const Eigen::VectorXd lower_part = factor.matrixL() * z;
  const Eigen::VectorXd shift = factor.transpositionsP().transpose() * lower_part;
  std::vector<double> x = solution.x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Parameter& parameter = problem.parameters[i];
    x[i] = std::clamp(x[i] + shift(static_cast<Eigen::Index>(i)), parameter.lower, parameter.upper);
  }
  return values_of(problem.parameters, x);
}

}  // namespace ddpprof::fit
