// The learning rate of each number of workers, by one of the rules of simulator/learning_rate.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/learning_rate/linear_rule.hpp"
#include "simulator/learning_rate/rules.hpp"
#include "tracer/store/rows/result_rows.hpp"

namespace ddpprof::fit {

struct LearningRateOptions {
  std::vector<std::int64_t> workers;
  double base_lr = 0.01;
  std::int64_t base_workers = 1;                 // base_lr was tuned at this many workers, with this batch a worker,
  std::optional<std::int64_t> tuned_batch = {};  // or at this global batch, where it is known
  std::int64_t samples_per_worker = 32;          // of one optimizer step: micro-batch times accumulation
  std::int64_t samples = 10000;                  // of one epoch
  bool drop_last = false;
  double warmup_epochs = 5.0;
  std::int64_t epochs = 90;
  bool adaptive_optimizer = false;
  learning_rate::Rule rule = learning_rate::Rule::linear;  // of learning_rates
  learning_rate::Decay decay;                              // of the schedules; learning_rates' targets come before it
  std::optional<double> noise_scale_samples = {};          // the gradient's: AdaScale's gain is made of it
  bool applied =
      false;  // by this schedule the file's trainings were: epochs then count as the worker's loader has them

  // That base_lr was tuned at. Throws std::invalid_argument above learning_rate::most_counted.
  std::int64_t base_batch() const {
    return tuned_batch ? *tuned_batch : learning_rate::global_batch(base_workers, samples_per_worker);
  }
};

using LearningRate = store::LearningRateRow;

// Returns the plan of one N as the rules take it.
learning_rate::Plan plan_of(const LearningRateOptions&, std::int64_t workers);

// The rate of the options' rule for each worker count, without a decay; the per-step schedule is
// simulator/learning_rate's lr_at. None for an N at which the rule refuses (learning_rate::refusal): Adam's square root
// far above the base batch, AdaScale without a noise scale.
std::vector<LearningRate> learning_rates(const LearningRateOptions&);

}  // namespace ddpprof::fit
