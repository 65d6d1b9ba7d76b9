// The terms of a DDP step, from the simulator's step.
#pragma once

#include <span>
#include <vector>

#include "analysis/predict/step_model/step_case.hpp"
#include "analysis/predict/step_model/step_parameters.hpp"
#include "simulator/step/ddp_step.hpp"

namespace ddpprof::fit {

// Returns the step to simulate, without its straggler. `scale` is compute_scale of the case.
step::DdpStep ddp_step(const StepCase&, const StepParameters&, double scale);

// Simulates the step twice: with equal ranks, and with the slowest rank late.
Terms ddp_terms(const StepCase&, const StepParameters&);

// Returns true if one call of ddp_terms_at_once gives the terms of many parameter sets: if the step is a recurrence,
// without another strategy and without a slowdown of compute beside communication.
bool runs_at_once(const StepCase&);
std::vector<Terms> ddp_terms_at_once(const StepCase&, std::span<const StepParameters* const>);

}  // namespace ddpprof::fit
