// Draws of a fit's parameters from their posterior distribution, where a normal distribution does not describe it.
#pragma once

#include <vector>

#include "analysis/fit/least_squares.hpp"
#include "simulator/stats/random.hpp"

namespace ddpprof::fit {

// Returns `count` draws of the parameters' values. Importance resampling: many more draws of the solution's normal
// distribution are weighted by the cost that `solve` minimises, so that draws which contradict the points are rare. The
// weights are truncated (Ionides 2008, "Truncated importance sampling"), which keeps a few draws from replacing all.
// Costs 8 × count × points evaluations of the model.
std::vector<std::vector<double>> posterior_draws(const Problem&, const Solution&, int count, stats::Random&);

}  // namespace ddpprof::fit
