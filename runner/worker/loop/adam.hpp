// LibTorch's Adam and AdamW, with the same sequence of operations as Python's.
#pragma once

#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// torch/optim/adam.py (_single_tensor_adam, PyTorch 2.11, Python's default on CPUs) updates the first moment in one
// pass, lerp_. LibTorch's own step uses two passes and rounds differently. With this step, trainings equal Python's bit
// for bit. State and options are LibTorch's. amsgrad is not supported. Parameters without a gradient are skipped, as in
// both.
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
