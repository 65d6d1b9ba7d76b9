#include "runner/worker/loop/adascale_rate.hpp"

#include <limits>
#include <vector>

#include "runner/scenario/schedule.hpp"
#include "runner/worker/process_group/agreement.hpp"

namespace ddpprof::worker {

AdaScaleRate::AdaScaleRate(const Context& context, Group* group, std::int64_t samples,
                           const learning_rate::AdaScaleState& state)
    : group_(group),
      samples_per_rank_(context.scenario.workload.batch_per_worker * context.scenario.workload.accumulation),
      micro_batches_(context.scenario.workload.accumulation),
      adascale_(scenario::adascale_of(context.scenario, context.workers(), samples, state)) {}

double AdaScaleRate::next(const std::optional<StepNorms>& own) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const StepNorms mine = own.value_or(StepNorms{none, none});
  const auto all = everyones(group_, {mine.local_sqr, mine.whole_sqr});
  std::vector<double> local_sqr;
  for (const auto& rank : all) local_sqr.push_back(rank.front());
  return adascale_.step(learning_rate::noise_of_step(local_sqr, all.front().back(), samples_per_rank_, micro_batches_));
}

}  // namespace ddpprof::worker
