#include "analysis/predict/learning_rate.hpp"

#include <set>

#include "simulator/learning_rate/rules.hpp"

namespace ddpprof::fit {
namespace {

LearningRate row_of(const learning_rate::Schedule& schedule, const char* rule) {
  LearningRate row;
  row.world_size = schedule.workers;
  row.rule = rule;
  row.global_batch = schedule.global_batch;
  row.base_lr = schedule.base_lr;
  row.target_lr = schedule.target_lr;
  row.warmup_steps = schedule.warmup_steps;
  for (const learning_rate::Warning warning : schedule.warnings)
    row.note += (row.note.empty() ? "" : "; ") + std::string(learning_rate::explain(warning));
  return row;
}

}  // namespace

learning_rate::Plan plan_of(const LearningRateOptions& options, std::int64_t workers) {
  learning_rate::Plan plan;
  plan.workers = workers;
  plan.batch_per_worker = options.samples_per_worker;
  plan.base_batch = options.base_batch();
  plan.base_lr = options.base_lr;
  plan.samples = options.samples;
  plan.drop_last = options.drop_last;
  plan.warmup_epochs = options.warmup_epochs;
  plan.epochs = options.epochs;
  plan.adaptive_optimizer = options.adaptive_optimizer;
  plan.adam = options.adam;
  plan.decay = options.decay;
  plan.noise_scale_samples = options.noise_scale_samples;
  plan.batches_span_epochs = options.applied;
  return plan;
}

std::vector<LearningRate> learning_rates(const LearningRateOptions& options) {
  std::vector<LearningRate> rows;
  for (const std::int64_t workers : std::set<std::int64_t>(options.workers.begin(), options.workers.end())) {
    const learning_rate::Plan plan = plan_of(options, workers);
    if (learning_rate::refusal(options.rule, plan)) continue;
    rows.push_back(row_of(learning_rate::schedule_of(options.rule, plan), learning_rate::to_string(options.rule)));
  }
  return rows;
}

}  // namespace ddpprof::fit
