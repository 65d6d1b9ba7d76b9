// Synthetic data that a model can learn from, the same on every rank, made from a seed before training starts.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/scenario/scenario.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// Sample i depends on (seed, i) alone. Classification: the label is drawn at random and the input is normal noise plus
// half of that label's own normal pattern. Regression: the input is normal and the target a fixed random linear map of
// it. Tokens, tables and a user's own tensors: structured.hpp. At most `pool_bytes` of inputs are kept; a larger data
// set repeats its first samples (i modulo pool_size()), so that making a batch costs a copy and never random numbers.
class Dataset {
 public:
  static constexpr std::int64_t pool_bytes = std::int64_t{128} << 20;

  Dataset(const scenario::Workload& workload);

  struct Batch {
    std::vector<torch::Tensor> inputs;  // each batch × its sample shape
    torch::Tensor targets;              // int64 labels, or float32 batch × outputs
  };
  Batch batch(const std::vector<std::int64_t>& indices) const;

  std::int64_t pool_size() const { return targets_.size(0); }

 private:
  std::vector<torch::Tensor> inputs_;
  torch::Tensor targets_;
};

torch::Tensor loss_of(scenario::LossKind kind, const torch::Tensor& output, const torch::Tensor& target);

}  // namespace ddpprof::worker
