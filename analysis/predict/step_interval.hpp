// The interval of a predicted step: the Monte Carlo draws, over the whole range of links that were not measured, and
// not narrower than the errors of published scaling tables if N is far beyond the measured N.
#pragma once

#include <cstddef>

#include "analysis/predict/step_model/step_case.hpp"
#include "simulator/stats/interval.hpp"

namespace ddpprof::fit {

class Predictor;

// Above this multiple of the largest measured N, the interval is at least as wide as published tables require.
inline constexpr double far_beyond_measured = 8.0;

// Returns the interval around a step of `step_s`. `samples`: the largest number of draws to use. `least_s`: a lower
// limit, in addition to the work of all ranks on the cores that they share. With a range of links, the interval goes
// from the low end of the fastest link's interval to the high end of the slowest link's. `mid` is not set.
stats::Interval step_interval(const Predictor&, const StepCase&, double step_s, std::size_t samples, double least_s);

}  // namespace ddpprof::fit
