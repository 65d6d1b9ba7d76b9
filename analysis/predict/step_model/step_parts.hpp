// Parts of a step that DDP and DataParallel have in common.
#pragma once

#include "analysis/predict/step_model/batch_change.hpp"
#include "analysis/predict/step_model/step_case.hpp"
#include "analysis/predict/step_model/step_parameters.hpp"

namespace ddpprof::fit {

// Compute time over the profile's, without the change of a batch or of compute speed.
double compute_scale(const StepCase&, const StepParameters&);
// Time of one forward and backward under the change over the profile's, without compute_scale.
PhaseFactor passes_factor(const StepCase&, const StepParameters&);
// The same of the optimizer, which runs once a step.
PhaseFactor optimizer_factor(const StepCase&, const StepParameters&);
// DDP's time before the last backward is multiplied by the micro-batches. Returns how much of it is too much, because the
// device waits for the host outside of the phases and a part of that wait occurs once a step (`gap_growth`). Negative with
// fewer micro-batches than measured.
double waits_once_s(const StepCase&, const StepParameters&);
// Time of kernels that run once a step (copies back) under the change over the profile's.
double outside_passes(const WhatIf&);
// Sets compute, host and other of a step from the time of its passes and of its optimizer, which include waits for
// launches, and from more compute without such waits (copies back).
void set_compute(Terms&, const StepCase&, const StepParameters&, double passes_s, double optimizer_s, double more_s);
double input_s(const StepProfile&, const WhatIf&);
// Time outside of every phase under a change of the samples of a step, over the profile's.
double gap_factor(const StepProfile&, const WhatIf&, const StepParameters&);
// Time outside of every phase, for this compute time of the phases. A median of differences can be slightly negative: it
// is then a share of compute, at most half of it.
double gap_s(const StepProfile&, double compute_s);

}  // namespace ddpprof::fit
