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
  std::int64_t base_workers = 1;                 // base_lr was tuned with this number of workers at samples_per_worker,
  std::optional<std::int64_t> tuned_batch = {};  // or at this global batch, if it is known
  std::int64_t samples_per_worker = 32;          // of one optimizer step: micro-batch times accumulation
  std::int64_t samples = 10000;                  // of one epoch
  bool drop_last = false;
  double warmup_epochs = 5.0;
  std::int64_t epochs = 90;
  bool adaptive_optimizer = false;
  learning_rate::AdamSettings adam = {};  // at the base batch
  learning_rate::Rule rule = learning_rate::Rule::linear;  // of learning_rates
  learning_rate::Decay decay;  // of the schedules; learning_rates returns the rates before the decay
  std::optional<double> noise_scale_samples = {};  // of the gradient; AdaScale's gain depends on it
  // The file's trainings ran with this schedule. Epochs are then counted as the worker's loader counts them.
  bool applied = false;
  // False: the samples and epochs of the training are unknown. Tables then have no steps and no times.
  bool steps_known = true;

  // Returns the global batch at which base_lr was tuned. Throws std::invalid_argument above
  // learning_rate::most_counted.
  std::int64_t base_batch() const {
    return tuned_batch ? *tuned_batch : learning_rate::global_batch(base_workers, samples_per_worker);
  }
};

using LearningRate = store::LearningRateRow;

// Returns the plan of one N as the rules take it.
learning_rate::Plan plan_of(const LearningRateOptions&, std::int64_t workers);

// Returns the rate of the options' rule for each worker count, without a decay; the schedule per step is
// simulator/learning_rate's lr_at. Leaves out an N that the rule refuses (learning_rate::refusal): Adam's square root
// far above the base batch, AdaScale without a noise scale.
std::vector<LearningRate> learning_rates(const LearningRateOptions&);

}  // namespace ddpprof::fit
