// The parts of one recorded step.
#pragma once

#include <vector>

#include "analysis/fit/measured/measured.hpp"
#include "analysis/fit/measured/rows.hpp"

namespace ddpprof::fit {

// Returns the shares of a step with a duration above 0. Without recorded intervals (compute_ns = 0), compute is the
// passes and the optimizer, and copies inside the passes count as copies only. `several`: false for one rank, which
// exchanges nothing.
StepShares shares_of(const StepInfo&, bool ddp, bool several);

StepShares mean_of(const std::vector<StepShares>&);  // all 0 of none

}  // namespace ddpprof::fit
