// An optimizer's state as Python's optimizer.state_dict() holds it, and back.
#pragma once

#include "runner/scenario/scenario.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// {"state": {parameter's index: {name: tensor}}, "param_groups": [{"lr": …, "params": [0, 1, …]}]}, for one group of
// parameters. `optimizer` must be what make_optimizer makes for `kind`.
c10::IValue optimizer_state(const torch::optim::Optimizer& optimizer, scenario::OptimizerKind kind);

// Fills in the state of each parameter; learning rate and the other options stay the optimizer's own. Throws
// std::runtime_error naming what does not fit.
void load_optimizer_state(torch::optim::Optimizer& optimizer, scenario::OptimizerKind kind, const c10::IValue& state);

}  // namespace ddpprof::worker
