// Weighted, robust least squares in the logarithm, with priors: the one solver behind every fit of this room.
//
// Minimises sum over points of rho((log model - log measured) / sd) + sum over parameters of ((x - prior) / prior_sd)^2
// with Huber's rho (linear beyond 2 sd), within bounds, by Ceres. Residuals in the logarithm are relative errors, so
// small and large messages weigh alike. A parameter that is positive by nature is its own logarithm here. The priors
// are wide (a factor of ten): they do not matter if the data determine a parameter. If they do not, the covariance
// keeps the width of the prior.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ddpprof::fit {

inline constexpr double factor_of_ten = 2.302585092994046;  // ln 10: one standard deviation of a wide prior

struct Parameter {
  std::string name;
  std::string unit;
  double prior = 0.0;  // centre; for a logarithmic parameter, of the logarithm
  double prior_sd = 1.0;
  double lower = -1e9;
  double upper = 1e9;
  bool logarithmic = true;  // value = exp(x)
  bool fixed = false;       // stays at `prior`
};

struct Problem {
  std::vector<Parameter> parameters;
  std::vector<double> measured;  // positive
  std::vector<double> sd;        // relative standard error of each point
  // Model value of a point from the parameters' values (not their logarithms); must be positive.
  std::function<double(std::span<const double> values, std::size_t point)> model;
  // The first point with the same model value, for each point: the model is evaluated once for equal rows of a long
  // table. Empty: all points differ.
  std::vector<std::size_t> first_equal;
  int max_iterations = 200;
};

struct Solution {
  // True if Ceres reports convergence (a usable solution is not enough), or if the same number of further steps did not
  // improve the cost.
  bool converged = false;
  std::string message;    // Ceres' own, when it did not converge
  std::vector<double> x;  // as fitted: logarithms where the parameter is logarithmic
  std::vector<double> values;
  std::vector<double> x_sd;          // standard error of x
  std::vector<double> x_covariance;  // row-major; 0 where a parameter is fixed or at a bound
  std::vector<bool> at_bound;
  std::vector<bool> identified;  // the data narrowed it to less than half of the prior's width
  std::vector<double> fitted;    // model value a point
  double median_relative_error = 0.0;
  // Points minus the parameters that they determine. A parameter that keeps its prior's width uses no degree of
  // freedom.
  double freedom = 0.0;
  double residual_scale = 1.0;  // how much wider than `sd` the residuals are; >= 1, already in the covariance
  double cost = 0.0;            // robust sum over points, halves included as Ceres counts
};

Solution solve(const Problem&);

// Returns Huber's rho of a residual, which is its square up to 2.
double huber(double residual);

// Values of one draw from the solution's normal distribution of x, clipped to the bounds. `normals` holds one standard
// normal draw a parameter.
std::vector<double> draw(const Problem&, const Solution&, std::span<const double> normals);

}  // namespace ddpprof::fit
