// The JSON texts of the table fit: parameters and covariance of a least-squares solution.
#pragma once

#include <string>

#include "analysis/fit/least_squares.hpp"

namespace ddpprof::fit {

// An object: each parameter's value, unit, standard error and state, in the order of the covariance.
std::string parameters_json(const Problem&, const Solution&);

// An array of rows, in the solver's own coordinates (logarithms, where a parameter is logarithmic).
std::string covariance_json(const Solution&);

}  // namespace ddpprof::fit
