// The learning-rate schedule of a scenario at one number of workers.
#pragma once

#include <cstdint>

#include "runner/scenario/scenario.hpp"
#include "simulator/learning_rate/adascale.hpp"
#include "simulator/learning_rate/rules.hpp"

namespace ddpprof::scenario {

// `samples`: samples of one epoch over all workers. Batches span epochs, as in the worker's loader. Adam's settings are
// PyTorch's defaults, with which the worker trains.
learning_rate::Plan learning_rate_plan(const Scenario&, std::int64_t workers, std::int64_t samples);

// Throws std::invalid_argument like learning_rate::schedule_of.
learning_rate::Schedule schedule_of(const Scenario&, std::int64_t workers, std::int64_t samples);

// The same for the rule adascale, whose rates depend on the training's gradients. `state` is the state of a checkpoint,
// or of the start of a training. Throws std::invalid_argument like learning_rate::AdaScale.
learning_rate::AdaScale adascale_of(const Scenario&, std::int64_t workers, std::int64_t samples,
                                    const learning_rate::AdaScaleState& state = {});

}  // namespace ddpprof::scenario
