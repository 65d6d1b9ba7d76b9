#include <cmath>

#include "runner/worker/models/transformer.hpp"
#include "runner/worker/models/transformer_parts.hpp"

namespace ddpprof::worker {
namespace {

constexpr double gpt_epsilon = 1e-5;

class Attention : public torch::nn::Module {
 public:
  Attention(std::int64_t width, std::int64_t heads, double last_sigma)
      : heads_(heads),
        c_attn_(register_module("c_attn", normal_dense(width, 3 * width))),
        c_proj_(register_module("c_proj", normal_dense(width, width, last_sigma))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    const auto parts = c_attn_->forward(x).split(x.size(2), 2);
    return c_proj_->forward(attend(parts[0], parts[1], parts[2], heads_, /*causal=*/true));
  }

 private:
  std::int64_t heads_;
  Dense c_attn_, c_proj_;
};

class Perceptron : public torch::nn::Module {
 public:
  Perceptron(std::int64_t width, double last_sigma)
      : c_fc_(register_module("c_fc", normal_dense(width, 4 * width))),
        c_proj_(register_module("c_proj", normal_dense(4 * width, width, last_sigma))) {}

  torch::Tensor forward(const torch::Tensor& x) { return c_proj_->forward(torch::gelu(c_fc_->forward(x), "tanh")); }

 private:
  Dense c_fc_, c_proj_;
};

}  // namespace

class GptNetwork::Block : public torch::nn::Module {
 public:
  Block(std::int64_t width, std::int64_t heads, double last_sigma)
      : ln_1_(register_module("ln_1", layer_norm(width, gpt_epsilon))),
        attention_(register_module("attn", std::make_shared<Attention>(width, heads, last_sigma))),
        ln_2_(register_module("ln_2", layer_norm(width, gpt_epsilon))),
        perceptron_(register_module("mlp", std::make_shared<Perceptron>(width, last_sigma))) {}

  torch::Tensor forward(torch::Tensor x) {
    x = x + attention_->forward(ln_1_->forward(x));
    return x + perceptron_->forward(ln_2_->forward(x));
  }

 private:
  torch::nn::LayerNorm ln_1_;
  std::shared_ptr<Attention> attention_;
  torch::nn::LayerNorm ln_2_;
  std::shared_ptr<Perceptron> perceptron_;
};

GptNetwork::GptNetwork(scenario::Model model) : Network(std::move(model)) {
  const scenario::Model& own = Network::model();
  const double last_sigma = transformer_sigma / std::sqrt(2.0 * static_cast<double>(own.layers));
  tokens_ = register_module("wte", normal_embedding(own.vocabulary_size(), own.width));
  positions_ = register_module("wpe", normal_embedding(own.position_count(), own.width));
  const auto blocks = register_module("h", std::make_shared<torch::nn::Module>());
  for (std::int64_t i = 0; i < own.layers; ++i)
    blocks_.push_back(
        blocks->register_module(std::to_string(i), std::make_shared<Block>(own.width, own.heads, last_sigma)));
  norm_ = register_module("ln_f", layer_norm(own.width, gpt_epsilon));
}

torch::Tensor GptNetwork::forward(const std::vector<torch::Tensor>& inputs) {
  const torch::Tensor& tokens = inputs.at(0);
  const auto places = torch::arange(tokens.size(1), torch::TensorOptions(torch::kLong).device(tokens.device()));
  // In separate statements, in Python's order of evaluation: it decides the order of backward, and so of the buckets.
  const auto embedded = tokens_->forward(tokens);
  auto x = embedded + positions_->forward(places);
  for (const auto& block : blocks_) x = block->forward(x);
  return torch::linear(norm_->forward(x), tokens_->weight);
}

}  // namespace ddpprof::worker
