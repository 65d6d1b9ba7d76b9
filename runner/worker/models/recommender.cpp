#include "runner/worker/models/recommender.hpp"
#include "runner/worker/models/dense.hpp"

#include <cmath>

namespace ddpprof::worker {

using torch::nn::ReLU, torch::nn::Sequential;

RecommenderNetwork::RecommenderNetwork(scenario::Model model) : Network(std::move(model)) {
  const scenario::Model& own = Network::model();
  const auto tables = register_module("tables", std::make_shared<torch::nn::Module>());
  const double range = 1.0 / std::sqrt(static_cast<double>(own.rows));
  for (std::int64_t i = 0; i < own.tables; ++i) {
    torch::nn::Embedding table(own.rows, own.embedding);
    const torch::NoGradGuard no_grad;
    table->weight.uniform_(-range, range);
    tables_.push_back(tables->register_module(std::to_string(i), table));
  }
  bottom_ = register_module("bottom",
                            Sequential(Dense(own.dense, own.hidden), ReLU(), Dense(own.hidden, own.embedding), ReLU()));
  const std::int64_t vectors = own.tables + 1;
  const std::int64_t pairs = vectors * (vectors - 1) / 2;
  top_ = register_module("top", Sequential(Dense(own.embedding + pairs, own.hidden), ReLU(), Dense(own.hidden, 1)));
  const auto triangle = torch::tril_indices(vectors, vectors, -1);
  pair_rows_ = triangle[0];
  pair_columns_ = triangle[1];
}

torch::Tensor RecommenderNetwork::forward(const std::vector<torch::Tensor>& inputs) {
  const auto numeric = bottom_->forward(inputs.at(0));
  const torch::Tensor& indices = inputs.at(1);
  std::vector<torch::Tensor> vectors{numeric};
  for (std::size_t i = 0; i < tables_.size(); ++i)
    vectors.push_back(tables_[i]->forward(indices.select(1, static_cast<std::int64_t>(i))));
  const auto stacked = torch::stack(vectors, 1);
  const auto products = torch::bmm(stacked, stacked.transpose(1, 2));
  if (pair_rows_.device() != products.device()) {  // only in the first forward pass: the copy to a GPU waits for it
    pair_rows_ = pair_rows_.to(products.device());
    pair_columns_ = pair_columns_.to(products.device());
  }
  using torch::indexing::Slice;
  const auto pairs = products.index({Slice(), pair_rows_, pair_columns_});
  return top_->forward(torch::cat({numeric, pairs}, 1)).squeeze(1);
}

}  // namespace ddpprof::worker
