// Where one recorded step went.
#pragma once

#include <vector>

#include "analysis/fit/measured/measured.hpp"
#include "analysis/fit/measured/rows.hpp"

namespace ddpprof::fit {

// Of a step that took some time. Without recorded intervals (compute_ns = 0) compute is the passes and the optimizer;
// copies that lie inside of the passes count as copies alone. `several`: one rank of ddp exchanges nothing.
StepShares shares_of(const StepInfo&, bool ddp, bool several);

StepShares mean_of(const std::vector<StepShares>&);  // all 0 of none

}  // namespace ddpprof::fit
