// The parts of recorded steps.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/fit/measured/measured.hpp"
#include "analysis/fit/measured/rows.hpp"

namespace ddpprof::fit {

// Returns the shares of a step with a duration above 0. Without recorded intervals (compute_ns = 0), compute is the
// passes and the optimizer, and copies inside the passes count as copies only. `several`: false for one rank, which
// exchanges nothing. `wait_ns`: exposed_wait_ns() of the step.
StepShares shares_of(const StepInfo&, bool ddp, bool several, std::int64_t wait_ns);

// Returns the part of step.skew_ns that no compute hides, at most step.exposed_ns. A rank waits at the begin of a
// collective and transfers at its end. Behind the last gradient the collectives' own times decide; before it, the
// exposed time has waiting and transfer in the same proportion as the hidden time. Without the time of the last
// gradient the exposed time is waiting first. `collectives`: of the step, ordered by start.
std::int64_t exposed_wait_ns(const StepInfo&, std::span<const CollectiveInfo* const> collectives);

// A step that lasts longer than this many medians does other work too: a checkpoint, an evaluation, compilation. Such
// steps do not count in mean shares, because the mean is multiplied by the median step.
inline constexpr double most_medians_of_a_step = 5.0;

// Returns the shares of each rank's measured step, by its step number, from steps without the profiler's cost.
std::vector<std::pair<std::int64_t, StepShares>> shares_of_steps(const std::vector<StepInfo>&,
                                                                 const std::vector<CollectiveInfo>&, bool ddp,
                                                                 bool several);

// Returns the mean over the ranks for each measured step of a measurement, by step number. Predictions use the same
// shares.
std::map<std::int64_t, StepShares> shares_by_step(SQLite::Database&, const MeasurementInfo&);

StepShares mean_of(const std::vector<StepShares>&);  // all 0 of none

}  // namespace ddpprof::fit
