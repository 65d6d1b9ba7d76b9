#include "analysis/fit/learning_rate.hpp"

#include <set>

#include "simulator/learning_rate/square_root_rule.hpp"

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
  for (const learning_rate::Doubt doubt : schedule.doubts)
    row.note += (row.note.empty() ? "" : "; ") + std::string(learning_rate::explain(doubt));
  return row;
}

template <class Rule>
std::vector<LearningRate> rows_of(const LearningRateOptions& options, const char* name, Rule&& rule) {
  std::vector<LearningRate> rows;
  for (const std::int64_t workers : std::set<std::int64_t>(options.workers.begin(), options.workers.end()))
    rows.push_back(row_of(rule(plan_of(options, workers)), name));
  return rows;
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
  plan.decay = options.decay;
  plan.noise_scale_samples = options.noise_scale_samples;
  plan.batches_span_epochs = options.applied;
  return plan;
}

std::vector<LearningRate> learning_rates(const LearningRateOptions& options) {
  if (why_no_rates(options)) return {};
  if (options.rule != learning_rate::Rule::square_root)
    return rows_of(options, learning_rate::to_string(options.rule),
                   [&](const learning_rate::Plan& plan) { return learning_rate::schedule_of(options.rule, plan); });
  std::vector<LearningRate> rows = square_root_rates(options);
  for (LearningRate& row : rows)
    if (const auto why = learning_rate::refusal(options.rule, plan_of(options, row.world_size)))
      row.note += (row.note.empty() ? "" : "; ") + *why;
  return rows;
}

std::optional<std::string> why_no_rates(const LearningRateOptions& options) {
  if (options.rule != learning_rate::Rule::adascale) return std::nullopt;
  return learning_rate::refusal(options.rule, plan_of(options, 1));
}

std::vector<LearningRate> square_root_rates(const LearningRateOptions& options) {
  return rows_of(options, "square root", learning_rate::square_root_rule);
}

}  // namespace ddpprof::fit
