// How a change of the batch or of gradient accumulation changes forward and backward.
#pragma once

#include "analysis/fit/batch_fit.hpp"
#include "analysis/fit/measured/measured.hpp"
#include "analysis/predict/step_model/step_parameters.hpp"
#include "analysis/predict/step_model/what_if.hpp"

namespace ddpprof::fit {

// Micro-batch size under the change over the profile's.
double batch_ratio(const StepProfile&, const WhatIf&);
// Micro-batches of a step under the change over the profile's.
double rounds_ratio(const StepProfile&, const WhatIf&);

// Time of forward and backward of one micro-batch under the change over the profile's: the part that the batch causes.
double batch_factor(const BatchFit&, const StepProfile&, const WhatIf&, const StepParameters&);
// The same with the change's compute speed; 0 if the change frees compute.
double passes_factor(const BatchFit&, const StepProfile&, const WhatIf&, const StepParameters&);

}  // namespace ddpprof::fit
