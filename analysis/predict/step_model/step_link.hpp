// The link of a training step's all-reduce under a change.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/fit/all_reduce_fit.hpp"
#include "analysis/predict/step_model/what_if.hpp"
#include "simulator/collective/all_reduce.hpp"

namespace ddpprof::fit {

// Returns FormFit::step_link with the change's latency and bandwidth; the terms that the change frees are 0.
collective::Link step_link(const FormFit&, const Machine&, std::span<const double> values, const WhatIf&);

// Returns FormFit::turn_s, or 0 if the change frees latency.
double turn_s(const FormFit&, std::span<const double> values, const WhatIf&);

}  // namespace ddpprof::fit
