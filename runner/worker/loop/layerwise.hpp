// Optimizers with a rate for each layer: LARS in the place of SGD, LAMB in the place of AdamW.
//
// Their formulas are simulator/learning_rate/layerwise.hpp's, with a parameter tensor as the layer. State and options
// are LibTorch's of SGD and AdamW, so checkpoints hold them as those. All norms of a step come from the device at once.
#pragma once

#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// The momentum holds the rate, as in the paper: v = m v + rate * local * (g + lambda w), w -= v. `trust`: eta.
class Lars : public torch::optim::SGD {
 public:
  Lars(std::vector<torch::Tensor> parameters, torch::optim::SGDOptions options, double trust)
      : torch::optim::SGD(std::move(parameters), options), trust_(trust) {}
  torch::Tensor step(LossClosure closure = nullptr) override;

 private:
  double trust_;
};

// Weight decay as AdamW's, of the weights themselves; the trust ratio is of the whole update, the decay included.
class Lamb : public torch::optim::AdamW {
 public:
  using torch::optim::AdamW::AdamW;
  torch::Tensor step(LossClosure closure = nullptr) override;
};

}  // namespace ddpprof::worker
