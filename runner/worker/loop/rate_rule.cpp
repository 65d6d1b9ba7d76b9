#include "runner/worker/loop/rate_rule.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "runner/scenario/input_files.hpp"
#include "runner/scenario/schedule.hpp"
#include "simulator/learning_rate/square_root_rule.hpp"

namespace ddpprof::worker {
namespace {

// Returns the progress in epochs. It is computed from samples, since the checkpoint may have another number of workers
// or another batch.
double epochs_so_far(const Context& context, std::int64_t samples, const Progress& begin) {
  const std::int64_t own =
      learning_rate::samples_of_worker(samples, context.workers(), context.scenario.workload.data.drop_last);
  return static_cast<double>(begin.epoch) +
         static_cast<double>(begin.position) / static_cast<double>(std::max<std::int64_t>(1, own) * context.workers());
}

// Returns the progress in steps of this run's batch. If the checkpoint has the same batch, this is its number of steps.
std::int64_t schedule_start(const Context& context, std::int64_t samples, const Progress& begin) {
  const auto plan = scenario::learning_rate_plan(context.scenario, context.workers(), samples);
  return std::llround(epochs_so_far(context, samples, begin) * learning_rate::unscaled(plan).epoch_steps);
}

// Returns the state from which AdaScale continues: the checkpoint's, or, if another rule made the checkpoint, the state
// of the base batch after the same number of samples.
learning_rate::AdaScaleState adascale_start(const Context& context, std::int64_t samples, const Progress& begin) {
  if (begin.adascale) return *begin.adascale;
  const auto plan = scenario::learning_rate_plan(context.scenario, context.workers(), samples);
  learning_rate::AdaScaleState state;
  state.base_batch = plan.base_batch;
  state.base_steps = epochs_so_far(context, samples, begin) * learning_rate::base_schedule(plan).epoch_steps;
  return state;
}

nlohmann::json adascale_facts(const learning_rate::AdaScaleState& state) {
  return {{"steps", state.steps},
          {"base_steps", state.base_steps},
          {"base_batch", state.base_batch},
          {"gradient_sqr", state.average.gradient_sqr},
          {"trace_samples", state.average.trace}};
}

}  // namespace

RuleSettings rule_settings(const Context& context, std::int64_t samples) {
  const scenario::LearningRate& rate = context.scenario.learning_rate;
  if (!rate.apply) return {};
  RuleSettings settings{rate.rule, rate.trust, {}};
  if (settings.rule == learning_rate::Rule::square_root)
    settings.adam =
        learning_rate::scale_adam({}, scenario::schedule_of(context.scenario, context.workers(), samples).kappa)
            .settings;
  return settings;
}

bool trains_by_adascale(const Context& context) {
  const scenario::LearningRate& rate = context.scenario.learning_rate;
  return rate.apply && rate.rule == learning_rate::Rule::adascale;
}

std::shared_ptr<AdaScaleRate> follow_rule(const Context& context, Group* group, std::int64_t samples,
                                          const Progress& begin, StepLoop& loop) {
  if (!context.scenario.learning_rate.apply) return nullptr;
  if (!trains_by_adascale(context)) {
    const auto schedule = scenario::schedule_of(context.scenario, context.workers(), samples);
    const std::int64_t before = schedule_start(context, samples, begin) - begin.steps;
    loop.rate([schedule, before](const Progress& progress, const std::optional<StepNorms>&) {
      return schedule.lr_at(before + progress.steps);
    });
    return nullptr;
  }
  const auto plan = scenario::learning_rate_plan(context.scenario, context.workers(), samples);
  if ((!group || context.strategy != scenario::Strategy::ddp) && learning_rate::unscaled(plan).kappa != 1.0)
    throw scenario::DataError(
        "learning_rate.rule: adascale needs the gradients of DDP's ranks, also of one; expected strategy ddp, started "
        "by "
        "ddpprof run, torchrun, srun or mpirun, or a global batch of learning_rate.base_batch");
  auto adascale = std::make_shared<AdaScaleRate>(context, group, samples, adascale_start(context, samples, begin));
  loop.rate([adascale](Progress& progress, const std::optional<StepNorms>& norms) {
    const double rate = adascale->next(norms);
    progress.adascale = adascale->state();
    return rate;
  });
  loop.over([adascale] { return adascale->done(); });
  return adascale;
}

nlohmann::json rule_start(const Context& context, std::int64_t samples, const Progress& begin) {
  if (trains_by_adascale(context)) return {{"adascale", adascale_facts(adascale_start(context, samples, begin))}};
  if (context.scenario.learning_rate.apply) return {{"schedule_step", schedule_start(context, samples, begin)}};
  return nlohmann::json::object();
}

}  // namespace ddpprof::worker
