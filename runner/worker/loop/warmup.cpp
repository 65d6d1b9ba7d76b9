#include "runner/worker/loop/warmup.hpp"

#include <algorithm>

#include "runner/worker/process_group/agreement.hpp"
#include "simulator/stats/warmup.hpp"

namespace ddpprof::worker {
namespace {

constexpr std::int64_t warmup_block_steps = 10;
constexpr std::int64_t ddp_steps = 3, static_graph_steps = 4, data_parallel_steps = 1;
constexpr std::int64_t last_steps = 3;  // after reading /proc, up to three steps took up to three times as long

}  // namespace

std::int64_t least_warmup_steps(const Context& context) {
  const bool ddp = context.strategy == scenario::Strategy::ddp;
  const std::int64_t least =
      !ddp ? data_parallel_steps : (context.scenario.ddp.static_graph ? static_graph_steps : ddp_steps);
  return context.scenario.measure.warmup_steps.value_or(least);
}

Warmup warm_up(const Context& context, Group* group, StepLoop& loop, Trainer& trainer,
               torch::optim::Optimizer& optimizer, const std::function<void()>& before_last) {
  using vocabulary::StepKind;
  Warmup warmup;
  const auto run = [&](std::int64_t steps) {
    loop.run(trainer, optimizer, StepKind::warmup, steps, warmup.durations_ns);
  };
  const std::int64_t least = least_warmup_steps(context);
  warmup.automatic = !context.scenario.measure.warmup_steps.has_value();
  if (!warmup.automatic) {
    const std::int64_t last = std::min(last_steps, least);
    run(least - last);
    before_last();
    run(last);
    return warmup;
  }
  run(least);
  const std::int64_t most = scenario::most_automatic_warmup_steps - last_steps;
  for (bool stop = false; !stop;) {
    run(std::min(warmup_block_steps, most - warmup.steps()));
    const std::vector<double> times(warmup.durations_ns.begin() + least, warmup.durations_ns.end());
    warmup.settled = stats::warmup_end(times).settled;
    stop = agree(group, warmup.settled || warmup.steps() >= most);
  }
  // Rank 0 decides for all ranks. Before the maximum number of steps, only settled times end the warm-up.
  if (warmup.steps() < most) warmup.settled = true;
  before_last();
  run(last_steps);
  return warmup;
}

}  // namespace ddpprof::worker
