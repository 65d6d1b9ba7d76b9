#include "runner/scenario/schedule.hpp"

#include <stdexcept>

namespace ddpprof::scenario {

learning_rate::Rule rule_of(LearningRateRule rule) {
  switch (rule) {
    case LearningRateRule::none:
      return learning_rate::Rule::none;
    case LearningRateRule::linear:
      return learning_rate::Rule::linear;
    case LearningRateRule::sqrt:
      return learning_rate::Rule::square_root;
    case LearningRateRule::lars:
      return learning_rate::Rule::lars;
    case LearningRateRule::lamb:
      return learning_rate::Rule::lamb;
  }
  throw std::invalid_argument("unknown learning-rate rule");
}

learning_rate::Plan learning_rate_plan(const Scenario& scenario, std::int64_t workers, std::int64_t samples) {
  const LearningRate& rate = scenario.learning_rate;
  learning_rate::Plan plan;
  plan.workers = workers;
  plan.batch_per_worker = scenario.workload.batch_per_worker * scenario.workload.accumulation;
  plan.base_batch = rate.base_batch.value_or(learning_rate::global_batch(rate.base_workers, plan.batch_per_worker));
  plan.base_lr = rate.base;
  plan.samples = samples;
  plan.drop_last = scenario.workload.data.drop_last;
  plan.warmup_epochs = rate.warmup_epochs;
  plan.epochs = rate.epochs;
  plan.adaptive_optimizer = scenario.workload.optimizer.kind != OptimizerKind::sgd;
  plan.decay = rate.decay;
  return plan;
}

learning_rate::Schedule schedule_of(const Scenario& scenario, std::int64_t workers, std::int64_t samples) {
  return learning_rate::schedule_of(rule_of(scenario.learning_rate.rule),
                                    learning_rate_plan(scenario, workers, samples));
}

}  // namespace ddpprof::scenario
