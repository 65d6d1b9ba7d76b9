// The learning-rate schedule that a scenario asks for at one number of workers.
#pragma once

#include <cstdint>

#include "runner/scenario/scenario.hpp"
#include "simulator/learning_rate/adascale.hpp"
#include "simulator/learning_rate/rules.hpp"

namespace ddpprof::scenario {

// `samples`: of one epoch over all workers. Batches span epochs, as the worker's loader has it. Adam's settings are
// PyTorch's, which the worker trains with.
learning_rate::Plan learning_rate_plan(const Scenario&, std::int64_t workers, std::int64_t samples);

// Throws std::invalid_argument as learning_rate::schedule_of.
learning_rate::Schedule schedule_of(const Scenario&, std::int64_t workers, std::int64_t samples);

// The same for the rule adascale, whose rates come of the training's own gradients, from `state` on: that of a
// checkpoint, or a training's beginning. Throws std::invalid_argument as learning_rate::AdaScale.
learning_rate::AdaScale adascale_of(const Scenario&, std::int64_t workers, std::int64_t samples,
                                    const learning_rate::AdaScaleState& state = {});

}  // namespace ddpprof::scenario
