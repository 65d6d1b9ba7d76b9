// A recommender in which almost all parameters are a few huge embedding tables.
#pragma once

#include "runner/worker/models/network.hpp"

namespace ddpprof::worker {

// DLRM (Naumov et al. 2019) with one index a table: numeric features through a perceptron to the tables' width, the
// pairwise dot products of all these vectors beside the first, a perceptron to one logit. Inputs: float32 batch × dense
// and int64 batch × tables; output: float32, one logit a sample. Tables are uniform in ±1/sqrt(rows), as there.
class RecommenderNetwork : public Network {
 public:
  explicit RecommenderNetwork(scenario::Model model);
  torch::Tensor forward(const std::vector<torch::Tensor>& inputs) override;

 private:
  std::shared_ptr<Network> blank() const override { return std::make_shared<RecommenderNetwork>(model()); }

  std::vector<torch::nn::Embedding> tables_;
  torch::nn::Sequential bottom_{nullptr}, top_{nullptr};
  torch::Tensor pair_rows_, pair_columns_;  // of the lower triangle; constants, not part of the model's state
};

}  // namespace ddpprof::worker
