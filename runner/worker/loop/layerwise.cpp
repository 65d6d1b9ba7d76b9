#include "runner/worker/loop/layerwise.hpp"

#include <cmath>
#include <memory>

#include "runner/worker/loop/optimizer_step.hpp"
#include "simulator/learning_rate/layerwise.hpp"

namespace ddpprof::worker {
namespace {

std::vector<torch::Tensor> with_gradients(const torch::optim::OptimizerParamGroup& group) {
  std::vector<torch::Tensor> parameters;
  for (const auto& parameter : group.params())
    if (parameter.grad().defined()) parameters.push_back(parameter);
  return parameters;
}

// Copies all norms to the host at once.
std::vector<double> norms_of(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> norms;
  for (const auto& tensor : tensors) norms.push_back(at::linalg_vector_norm(tensor, 2).to(at::kDouble));
  const auto all = torch::stack(norms).cpu();
  return {all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel()};
}

// If a norm is not finite, the loss of this or the next step is not finite either, and its error says what to do.
template <typename Ratio>
double unless_lost(double one, double other, Ratio&& ratio) {
  return std::isfinite(one) && std::isfinite(other) ? ratio() : 1.0;
}

}  // namespace

torch::Tensor Lars::step(LossClosure closure) {
  auto loss = loss_of(closure);
  const torch::NoGradGuard no_grad;
  for (auto& group : param_groups()) {
    const auto& options = static_cast<const torch::optim::SGDOptions&>(group.options());
    const learning_rate::LarsSettings settings{trust_, options.weight_decay()};
    auto parameters = with_gradients(group);
    if (parameters.empty()) continue;
    std::vector<torch::Tensor> gradients;
    for (const auto& parameter : parameters) gradients.push_back(parameter.grad());
    const auto weight_norms = norms_of(parameters), gradient_norms = norms_of(gradients);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double local = unless_lost(weight_norms[i], gradient_norms[i], [&] {
        return learning_rate::lars_local_rate(weight_norms[i], gradient_norms[i], settings);
      });
      const auto update = gradients[i].add(parameters[i], options.weight_decay()).mul_(options.lr() * local);
      if (options.momentum() == 0.0) {
        parameters[i].sub_(update);
        continue;
      }
      auto& held = state()[parameters[i].unsafeGetTensorImpl()];
      if (!held) {
        auto fresh = std::make_unique<torch::optim::SGDParamState>();
        fresh->momentum_buffer(torch::zeros_like(parameters[i], at::MemoryFormat::Preserve));
        held = std::move(fresh);
      }
      auto& velocity = static_cast<torch::optim::SGDParamState&>(*held).momentum_buffer();
      velocity.mul_(options.momentum()).add_(update);
      parameters[i].sub_(velocity);
    }
  }
  return loss;
}

torch::Tensor Lamb::step(LossClosure closure) {
  auto loss = loss_of(closure);
  const torch::NoGradGuard no_grad;
  for (auto& group : param_groups()) {
    const auto& options = static_cast<const torch::optim::AdamWOptions&>(group.options());
    auto parameters = with_gradients(group);
    if (parameters.empty()) continue;
    std::vector<torch::Tensor> updates;
    for (const auto& parameter : parameters) {
      const Moments moments = take_moments<torch::optim::AdamWParamState>(*this, parameter, parameter.grad(), options);
      updates.push_back(
          (moments.first / moments.denominator).div_(moments.correction).add_(parameter, options.weight_decay()));
    }
    const auto weight_norms = norms_of(parameters), update_norms = norms_of(updates);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double ratio = unless_lost(weight_norms[i], update_norms[i], [&] {
        return learning_rate::lamb_trust_ratio(weight_norms[i], update_norms[i], {});
      });
      parameters[i].sub_(updates[i], options.lr() * ratio);
    }
  }
  return loss;
}

}  // namespace ddpprof::worker
