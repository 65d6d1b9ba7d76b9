// The learning-rate rule of a training: which rate each step gets, and where the rule continues after a checkpoint.
#pragma once

#include <cstdint>
#include <memory>

#include <nlohmann/json.hpp>

#include "runner/worker/checkpoint/checkpoint.hpp"
#include "runner/worker/loop/adascale_rate.hpp"
#include "runner/worker/loop/context.hpp"
#include "runner/worker/loop/step_loop.hpp"
#include "runner/worker/loop/trainer.hpp"

namespace ddpprof::worker {

// In all functions `samples` is the number of samples of one epoch, and `begin` is the progress of the checkpoint from
// which the training continues (all zero without one).

// Returns what the rule changes in the optimizer: LARS or LAMB in its place, Adam's settings under the square root
// rule. Returns the defaults without learning_rate.apply.
RuleSettings rule_settings(const Context&, std::int64_t samples);

// Returns true if the training applies AdaScale.
bool trains_by_adascale(const Context&);

// Makes `loop` set each step's rate by the rule. Returns the state of AdaScale, which `loop` shares; null for every
// other rule. Throws scenario::DataError if the rule is AdaScale and the ranks' gradients are not available.
std::shared_ptr<AdaScaleRate> follow_rule(const Context&, Group*, std::int64_t samples, const Progress& begin,
                                          StepLoop& loop);

// Returns where the rule starts, for "checkpoint" in the result file: {"adascale": {...}}, {"schedule_step": n} or {}.
nlohmann::json rule_start(const Context&, std::int64_t samples, const Progress& begin);

}  // namespace ddpprof::worker
