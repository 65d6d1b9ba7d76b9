#include "runner/worker/loop/trainer.hpp"

#include <tuple>

#include "runner/worker/annotate.hpp"
#include "runner/worker/loop/adam.hpp"
#include "runner/worker/loop/autocast.hpp"
#include "runner/worker/loop/layerwise.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {

using annotate::Name;
using annotate::Range;

void Trainer::zero_gradients() {
  for (auto& parameter : network().parameters()) parameter.mutable_grad().reset();
}

DdpTrainer::DdpTrainer(std::shared_ptr<Network> network, Group& group, const scenario::Scenario& scenario)
    : ddp_(std::move(network), group, scenario.ddp), options_(scenario.workload) {}

torch::Tensor DdpTrainer::pass(const Dataset::Batch& batch, bool synchronize, double loss_divisor) {
  status::set(status::Activity::forward);
  ddp_.prepare_forward(synchronize);
  torch::Tensor loss;
  {
    const Range range(Name::forward);
    const Autocast autocast(options_.autocast, batch.inputs.front().device());
    loss = loss_of(options_.loss, ddp_.forward(batch.inputs), batch.targets);
    if (loss_divisor != 1.0) loss = loss / loss_divisor;
  }
  status::set(status::Activity::backward);
  const Range range(Name::backward);
  ddp_.backward(loss);
  return loss.detach();
}

PlainTrainer::PlainTrainer(std::shared_ptr<Network> network, PassOptions options)
    : network_(std::move(network)), options_(options) {
  accumulators_ = hook_gradients(trainable_parameters(*network_), &synchronizing_);
}

torch::Tensor PlainTrainer::pass(const Dataset::Batch& batch, bool synchronize, double loss_divisor) {
  synchronizing_ = synchronize;
  torch::Tensor loss;
  {
    const Range range(Name::forward);
    const Autocast autocast(options_.autocast, batch.inputs.front().device());
    loss = loss_of(options_.loss, network_->forward(batch.inputs), batch.targets);
    if (loss_divisor != 1.0) loss = loss / loss_divisor;
  }
  const Range range(Name::backward);
  loss.backward();
  return loss.detach();
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Network& network, const scenario::Optimizer& options,
                                                        double rate, const RuleSettings& settings) {
  const std::tuple betas(settings.adam.beta1, settings.adam.beta2);
  const auto parameters = network.parameters();
  switch (options.kind) {
    case scenario::OptimizerKind::sgd: {
      const auto own = torch::optim::SGDOptions(rate).momentum(options.momentum).weight_decay(options.decay());
      if (settings.rule == learning_rate::Rule::lars) return std::make_unique<Lars>(parameters, own, settings.trust);
      return std::make_unique<torch::optim::SGD>(parameters, own);
    }
    case scenario::OptimizerKind::adam:
      return std::make_unique<Adam>(
          parameters,
          torch::optim::AdamOptions(rate).betas(betas).eps(settings.adam.epsilon).weight_decay(options.decay()));
    case scenario::OptimizerKind::adamw: {
      const auto own =
          torch::optim::AdamWOptions(rate).betas(betas).eps(settings.adam.epsilon).weight_decay(options.decay());
      if (settings.rule == learning_rate::Rule::lamb) return std::make_unique<Lamb>(parameters, own);
      return std::make_unique<AdamW>(parameters, own);
    }
  }
  throw std::invalid_argument("unknown optimizer");
}

}  // namespace ddpprof::worker
