// How a change of the batch, of gradient accumulation, or of the speed of device or host changes forward and backward.
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

// A phase under a change over the same phase as measured.
struct PhaseFactor {
  double whole = 1.0;
  double kernels = 1.0;  // of whole: kernels run; the rest waits for the host's launches
  double waits() const { return whole - kernels; }
  double waits_share() const { return whole > 0.0 ? waits() / whole : 0.0; }
};

// Forward and backward: the batch's factor with the change's compute speed (0 if the change frees compute), and the
// host's pace (simulator/step/host_pace.hpp). Measured batches give the growth of the whole phase, assumed growth is
// that of the kernels.
PhaseFactor passes_factor(const BatchFit&, const StepProfile&, const WhatIf&, const StepParameters&);

}  // namespace ddpprof::fit
