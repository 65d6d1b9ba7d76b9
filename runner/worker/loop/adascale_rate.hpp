// The rate of a training by AdaScale: one gain for all ranks, made of the gradients of all.
#pragma once

#include <cstdint>
#include <optional>

#include "runner/worker/loop/context.hpp"
#include "runner/worker/loop/gradient_norms.hpp"
#include "runner/worker/process_group/process_group.hpp"
#include "simulator/learning_rate/adascale.hpp"

namespace ddpprof::worker {

// One all-gather of two numbers a step: the gain needs every rank's norm before the optimizer may step. All ranks take
// the sums in the same order, and rank 0's norm of the averaged gradient, so that their rates are equal to the bit, and
// so is what the trace allows to reckon again (runner/scenario_queries/trained.hpp).
class AdaScaleRate {
 public:
  // `samples`: of one epoch. Throws std::invalid_argument as learning_rate::AdaScale.
  AdaScaleRate(const Context&, Group*, std::int64_t samples, const learning_rate::AdaScaleState&);

  // Of the next step, with this rank's norms; each rank calls it in each step. Counts that step.
  double next(const std::optional<StepNorms>& own);

  const learning_rate::AdaScaleState& state() const { return adascale_.state(); }
  bool done() const { return adascale_.done(); }  // equal on all ranks

 private:
  Group* group_;
  std::int64_t samples_per_rank_, micro_batches_;
  learning_rate::AdaScale adascale_;
};

}  // namespace ddpprof::worker
