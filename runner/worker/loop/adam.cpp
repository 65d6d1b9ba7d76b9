#include "runner/worker/loop/adam.hpp"

#include <cmath>
#include <tuple>

namespace ddpprof::worker {
namespace {

template <typename State, typename Options>
void step_all(torch::optim::Optimizer& optimizer, bool decoupled_decay) {
  const torch::NoGradGuard no_grad;
  for (auto& group : optimizer.param_groups()) {
    const auto& options = static_cast<const Options&>(group.options());
    const auto [beta1, beta2] = options.betas();
    const double rate = options.lr(), decay = options.weight_decay();
    for (auto& parameter : group.params()) {
      torch::Tensor gradient = parameter.grad();
      if (!gradient.defined()) continue;
      auto& held = optimizer.state()[parameter.unsafeGetTensorImpl()];
      if (!held) {
        auto fresh = std::make_unique<State>();
        fresh->exp_avg(torch::zeros_like(parameter, at::MemoryFormat::Preserve));
        fresh->exp_avg_sq(torch::zeros_like(parameter, at::MemoryFormat::Preserve));
        held = std::move(fresh);
      }
      auto& state = static_cast<State&>(*held);
      state.step(state.step() + 1);
      if (decay != 0.0) {
        if (decoupled_decay)
          parameter.mul_(1.0 - rate * decay);
        else
          gradient = gradient.add(parameter, decay);
      }
      state.exp_avg().lerp_(gradient, 1.0 - beta1);
      state.exp_avg_sq().mul_(beta2).addcmul_(gradient, gradient, 1.0 - beta2);
      const auto steps = static_cast<double>(state.step());
      const double correction1 = 1.0 - std::pow(beta1, steps), correction2 = 1.0 - std::pow(beta2, steps);
      const auto denominator = (state.exp_avg_sq().sqrt() / std::sqrt(correction2)).add_(options.eps());
      parameter.addcdiv_(state.exp_avg(), denominator, -rate / correction1);
    }
  }
}

torch::Tensor loss_of(const torch::optim::Optimizer::LossClosure& closure) {
  if (!closure) return {};
  const at::AutoGradMode with_gradients(true);
  return closure();
}

}  // namespace

torch::Tensor Adam::step(LossClosure closure) {
  auto loss = loss_of(closure);
  step_all<torch::optim::AdamParamState, torch::optim::AdamOptions>(*this, /*decoupled_decay=*/false);
  return loss;
}

torch::Tensor AdamW::step(LossClosure closure) {
  auto loss = loss_of(closure);
  step_all<torch::optim::AdamWParamState, torch::optim::AdamWOptions>(*this, /*decoupled_decay=*/true);
  return loss;
}

}  // namespace ddpprof::worker
