// A linear layer with the same operation as Python's.
#pragma once

#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// Weights and initial values are those of torch::nn::Linear. The forward is one at::linear, like Python's F.linear. For
// inputs with three dimensions the C++ module multiplies and then adds: this is slower and, under autocast, changes the
// order in which gradients become ready.
class DenseImpl : public torch::nn::LinearImpl {
 public:
  using torch::nn::LinearImpl::LinearImpl;
  torch::Tensor forward(const torch::Tensor& input) { return at::linear(input, weight, bias); }
};
TORCH_MODULE(Dense);

}  // namespace ddpprof::worker
