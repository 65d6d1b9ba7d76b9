// The warm-up: the number of steps in the scenario, or steps until the step times have settled.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runner/worker/loop/step_loop.hpp"

namespace ddpprof::worker {

struct Warmup {
  std::vector<std::int64_t> durations_ns;
  bool automatic = false;
  bool settled = true;  // false: automatic, and not settled after the maximum number of steps

  std::int64_t steps() const { return static_cast<std::int64_t>(durations_ns.size()); }
};

// Returns the minimum number of warm-up steps: the number in the scenario, if set. Otherwise, for DDP, the steps in
// which it sends one bucket and rebuilds its buckets, and the step after, which has new buckets; for DataParallel the
// first step, which allocates memory.
std::int64_t least_warmup_steps(const Context& context);

// Runs the warm-up. Without a number in the scenario: the minimum, then blocks of 10 steps until stats::warmup_end, on
// rank 0, finds that the steps after the minimum have settled, then 3 more steps; at most
// scenario::most_automatic_warmup_steps. `before_last` is called before the last 3 steps (before all of them if there
// are fewer), since it delays the next steps, which must not be measured.
Warmup warm_up(const Context& context, Group* group, StepLoop& loop, Trainer& trainer,
               torch::optim::Optimizer& optimizer, const std::function<void()>& before_last);

}  // namespace ddpprof::worker
