// Optimizers with one rate per layer: LARS instead of SGD, LAMB instead of AdamW.
//
// The formulas are in simulator/learning_rate/layerwise.hpp; one parameter tensor is one layer. State and options are
// those of LibTorch's SGD and AdamW, and so is their form in checkpoints. All norms of a step are copied from the
// device at once.
#pragma once

#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// The momentum includes the rate, as in the paper: v = m v + rate * local * (g + lambda w), w -= v. `trust`: eta.
class Lars : public torch::optim::SGD {
 public:
  Lars(std::vector<torch::Tensor> parameters, torch::optim::SGDOptions options, double trust)
      : torch::optim::SGD(std::move(parameters), options), trust_(trust) {}
  torch::Tensor step(LossClosure closure = nullptr) override;

 private:
  double trust_;
};

// Weight decay as in AdamW, applied to the weights. The trust ratio is computed from the whole update, decay included.
class Lamb : public torch::optim::AdamW {
 public:
  using torch::optim::AdamW::AdamW;
  torch::Tensor step(LossClosure closure = nullptr) override;
};

}  // namespace ddpprof::worker
