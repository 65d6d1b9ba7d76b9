// LibTorch's Adam and AdamW, stepped by the operations that Python's take.
#pragma once

#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// LibTorch's own step updates the first moment in two passes over memory where torch/optim/adam.py
// (_single_tensor_adam, PyTorch 2.11, Python's default on CPUs) takes one, lerp_, and rounds otherwise: with this one,
// trainings are equal to the bit. State and options are LibTorch's. Without amsgrad; a gradient that is not there is
// passed over, as in both.
class Adam : public torch::optim::Adam {
 public:
  using torch::optim::Adam::Adam;
  torch::Tensor step(LossClosure closure = nullptr) override;
};

class AdamW : public torch::optim::AdamW {
 public:
  using torch::optim::AdamW::AdamW;
  torch::Tensor step(LossClosure closure = nullptr) override;
};

}  // namespace ddpprof::worker
