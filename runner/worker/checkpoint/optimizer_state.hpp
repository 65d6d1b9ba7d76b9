// Converts an optimizer's state to the form of Python's optimizer.state_dict(), and back.
#pragma once

#include "runner/scenario/scenario.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// {"state": {parameter's index: {name: tensor}}, "param_groups": [{"lr": …, "params": [0, 1, …]}]}, for one group of
// parameters. `optimizer` must be made by make_optimizer for `kind`.
c10::IValue optimizer_state(const torch::optim::Optimizer& optimizer, scenario::OptimizerKind kind);

// Sets the state of each parameter. The learning rate and the other options do not change. Throws std::runtime_error,
// which names what does not fit.
void load_optimizer_state(torch::optim::Optimizer& optimizer, scenario::OptimizerKind kind, const c10::IValue& state);

}  // namespace ddpprof::worker
