// The steps before the measured ones: as many as the scenario says, or until the step times have settled.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runner/worker/loop/step_loop.hpp"

namespace ddpprof::worker {

struct Warmup {
  std::vector<std::int64_t> durations_ns;
  bool automatic = false;
  bool settled = true;  // false: automatic, and still moving after the most steps it may take

  std::int64_t steps() const { return static_cast<std::int64_t>(durations_ns.size()); }
};

// Steps that are warm-up by their kind, whatever they take: the scenario's number; and where it is to be found, those
// in which DDP sends one bucket and rebuilds its buckets (with the one after, whose buckets are new), or DataParallel's
// first, in which memory is allocated.
std::int64_t least_warmup_steps(const Context& context);

// Without a number in the scenario: the least, then blocks of 10 until stats::warmup_end says of the steps after the
// least that they have settled, on rank 0, whose word is everyone's, and 3 more; at most
// scenario::most_automatic_warmup_steps. `before_last` is called before the last 3 steps (or all, of fewer): what it
// does disturbs the steps after it, which are not to be measured.
Warmup warm_up(const Context& context, Group* group, StepLoop& loop, Trainer& trainer,
               torch::optim::Optimizer& optimizer, const std::function<void()>& before_last);

}  // namespace ddpprof::worker
