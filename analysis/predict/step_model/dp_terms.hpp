// The terms of a DataParallel step, from the simulator's step.
#pragma once

#include "analysis/predict/step_model/step_case.hpp"
#include "analysis/predict/step_model/step_parameters.hpp"
#include "simulator/step/data_parallel.hpp"

namespace ddpprof::fit {

// Returns the step's copies. Without copies, the step has one replica.
step::DataParallelStep copies_step(const StepCase&, const StepParameters&);

Terms dp_terms(const StepCase&, const StepParameters&);

}  // namespace ddpprof::fit
