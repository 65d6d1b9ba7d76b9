// The learning-rate schedule that a scenario asks for at one number of workers.
#pragma once

#include <cstdint>

#include "runner/scenario/scenario.hpp"
#include "simulator/learning_rate/rules.hpp"

namespace ddpprof::scenario {

learning_rate::Rule rule_of(LearningRateRule);

// `samples`: of one epoch over all workers. Adam's settings are PyTorch's, which the worker trains with.
learning_rate::Plan learning_rate_plan(const Scenario&, std::int64_t workers, std::int64_t samples);

// Throws std::invalid_argument as learning_rate::schedule_of.
learning_rate::Schedule schedule_of(const Scenario&, std::int64_t workers, std::int64_t samples);

}  // namespace ddpprof::scenario
