// A recommender: almost all parameters are in a few large embedding tables.
#pragma once

#include "runner/worker/models/network.hpp"

namespace ddpprof::worker {

// DLRM (Naumov et al. 2019) with one index per table: a perceptron maps numeric features to the tables' width; the
// pairwise dot products of all these vectors, and the first vector, are the input of a perceptron with one logit.
// Inputs: float32 batch × dense and int64 batch × tables; output: float32, one logit per sample. Tables are uniform in
// ±1/sqrt(rows), as in the paper.
class RecommenderNetwork : public Network {
 public:
  explicit RecommenderNetwork(scenario::Model model);
  torch::Tensor forward(const std::vector<torch::Tensor>& inputs) override;

 private:
  std::shared_ptr<Network> blank() const override { return std::make_shared<RecommenderNetwork>(model()); }

  std::vector<torch::nn::Embedding> tables_;
  torch::nn::Sequential bottom_{nullptr}, top_{nullptr};
  // Indices of the lower triangle; constants, not part of the model's state. On the device of the last forward pass.
  torch::Tensor pair_rows_, pair_columns_;
};

}  // namespace ddpprof::worker
