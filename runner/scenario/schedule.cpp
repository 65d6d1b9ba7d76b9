#include "runner/scenario/schedule.hpp"

namespace ddpprof::scenario {

learning_rate::Plan learning_rate_plan(const Scenario& scenario, std::int64_t workers, std::int64_t samples) {
  const LearningRate& rate = scenario.learning_rate;
  learning_rate::Plan plan;
  plan.workers = workers;
  plan.batch_per_worker = scenario.workload.batch_per_worker * scenario.workload.accumulation;
  plan.base_batch = rate.base_batch.value_or(learning_rate::global_batch(rate.base_workers, plan.batch_per_worker));
  plan.base_lr = rate.base;
  plan.samples = samples;
  plan.drop_last = scenario.workload.data.drop_last;
  plan.batches_span_epochs = true;
  plan.warmup_epochs = rate.warmup_epochs;
  plan.epochs = rate.epochs;
  plan.adaptive_optimizer = scenario.workload.optimizer.kind != OptimizerKind::sgd;
  plan.decay = rate.decay;
  return plan;
}

learning_rate::Schedule schedule_of(const Scenario& scenario, std::int64_t workers, std::int64_t samples) {
  return learning_rate::schedule_of(scenario.learning_rate.rule, learning_rate_plan(scenario, workers, samples));
}

learning_rate::AdaScale adascale_of(const Scenario& scenario, std::int64_t workers, std::int64_t samples,
                                    const learning_rate::AdaScaleState& state) {
  const std::int64_t parts = workers > 1 ? workers : scenario.workload.accumulation;
  return {learning_rate_plan(scenario, workers, samples), parts, state};
}

}  // namespace ddpprof::scenario
