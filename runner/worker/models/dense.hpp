// A linear layer that computes as Python's does.
#pragma once

#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// torch::nn::Linear's weights and initial values; its forward, though, is one at::linear, as Python's F.linear is. The
// C++ module multiplies and then adds where its input has three dimensions, which is slower and, under autocast, makes
// gradients ready in another order.
class DenseImpl : public torch::nn::LinearImpl {
 public:
  using torch::nn::LinearImpl::LinearImpl;
  torch::Tensor forward(const torch::Tensor& input) { return at::linear(input, weight, bias); }
};
TORCH_MODULE(Dense);

}  // namespace ddpprof::worker
