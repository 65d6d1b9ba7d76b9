#include "runner/worker/loop/adam.hpp"

#include "runner/worker/loop/optimizer_step.hpp"

namespace ddpprof::worker {
namespace {

template <typename State, typename Options>
void step_all(torch::optim::Optimizer& optimizer, bool decoupled_decay) {
  const torch::NoGradGuard no_grad;
  for (auto& group : optimizer.param_groups()) {
    const auto& options = static_cast<const Options&>(group.options());
    const double rate = options.lr(), decay = options.weight_decay();
    for (auto& parameter : group.params()) {
      torch::Tensor gradient = parameter.grad();
      if (!gradient.defined()) continue;
      if (decay != 0.0) {
        if (decoupled_decay)
          parameter.mul_(1.0 - rate * decay);
        else
          gradient = gradient.add(parameter, decay);
      }
      const Moments moments = take_moments<State>(optimizer, parameter, gradient, options);
      parameter.addcdiv_(moments.first, moments.denominator, -rate / moments.correction);
    }
  }
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
