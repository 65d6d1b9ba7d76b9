// Parts that the optimizers of this folder share: the closure, and the moments of Adam, AdamW and LAMB.
#pragma once

#include <cmath>
#include <memory>
#include <tuple>

#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

inline torch::Tensor loss_of(const torch::optim::Optimizer::LossClosure& closure) {
  if (!closure) return {};
  const at::AutoGradMode with_gradients(true);
  return closure();
}

// Moments of one parameter, with this step's gradient included. The update is first / denominator / correction.
struct Moments {
  torch::Tensor first, denominator;
  double correction = 1.0;
};

// `State`: AdamParamState or AdamWParamState; made if the optimizer has none. `Options`: those of the group.
template <typename State, typename Options>
Moments take_moments(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter, const torch::Tensor& gradient,
                     const Options& options) {
  const auto [beta1, beta2] = options.betas();
  auto& held = optimizer.state()[parameter.unsafeGetTensorImpl()];
  if (!held) {
    auto fresh = std::make_unique<State>();
    fresh->exp_avg(torch::zeros_like(parameter, at::MemoryFormat::Preserve));
    fresh->exp_avg_sq(torch::zeros_like(parameter, at::MemoryFormat::Preserve));
    held = std::move(fresh);
  }
  auto& state = static_cast<State&>(*held);
  state.step(state.step() + 1);
  state.exp_avg().lerp_(gradient, 1.0 - beta1);
  state.exp_avg_sq().mul_(beta2).addcmul_(gradient, gradient, 1.0 - beta2);
  const auto steps = static_cast<double>(state.step());
  const double correction1 = 1.0 - std::pow(beta1, steps), correction2 = 1.0 - std::pow(beta2, steps);
  return {state.exp_avg(), (state.exp_avg_sq().sqrt() / std::sqrt(correction2)).add_(options.eps()), correction1};
}

}  // namespace ddpprof::worker
