// The learning rate of a training with AdaScale: one gain for all ranks, computed from the gradients of all ranks.
#pragma once

#include <cstdint>
#include <optional>

#include "runner/worker/loop/context.hpp"
#include "runner/worker/loop/gradient_norms.hpp"
#include "runner/worker/process_group/process_group.hpp"
#include "simulator/learning_rate/adascale.hpp"

namespace ddpprof::worker {

// One all-gather of two numbers per step: the gain needs every rank's norm before the optimizer step. All ranks add in
// the same order and use rank 0's norm of the averaged gradient. So the rates of all ranks are equal bit for bit, and
// so are the rates that are computed again from the trace (runner/scenario_queries/trained.hpp).
class AdaScaleRate {
 public:
  // `samples`: number of samples of one epoch. Throws std::invalid_argument like learning_rate::AdaScale.
  AdaScaleRate(const Context&, Group*, std::int64_t samples, const learning_rate::AdaScaleState&);

  // Returns the rate of the next step and counts that step. `own`: this rank's norms. Every rank must call it in every
  // step.
  double next(const std::optional<StepNorms>& own);

  const learning_rate::AdaScaleState& state() const { return adascale_.state(); }
  bool done() const { return adascale_.done(); }  // equal on all ranks

 private:
  Group* group_;
  std::int64_t samples_per_rank_, micro_batches_;
  learning_rate::AdaScale adascale_;
};

}  // namespace ddpprof::worker
