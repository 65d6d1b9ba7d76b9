#include "runner/worker/models/transformer.hpp"
#include "runner/worker/models/transformer_parts.hpp"

namespace ddpprof::worker {
namespace {

constexpr double bert_epsilon = 1e-12;
constexpr std::int64_t token_types = 2;

}  // namespace

class BertNetwork::Layer : public torch::nn::Module {
 public:
  Layer(std::int64_t width, std::int64_t heads)
      : heads_(heads),
        query_(register_module("query", normal_dense(width, width))),
        key_(register_module("key", normal_dense(width, width))),
        value_(register_module("value", normal_dense(width, width))),
        mixed_(register_module("attention_output", normal_dense(width, width))),
        mixed_norm_(register_module("attention_norm", layer_norm(width, bert_epsilon))),
        intermediate_(register_module("intermediate", normal_dense(width, 4 * width))),
        output_(register_module("output", normal_dense(4 * width, width))),
        output_norm_(register_module("output_norm", layer_norm(width, bert_epsilon))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    // In separate statements, in Python's order of evaluation: it decides the order of backward, and so of the buckets.
    const auto query = query_->forward(x), key = key_->forward(x), value = value_->forward(x);
    const auto attended = attend(query, key, value, heads_, /*causal=*/false);
    const auto middle = mixed_norm_->forward(mixed_->forward(attended) + x);
    return output_norm_->forward(output_->forward(torch::gelu(intermediate_->forward(middle))) + middle);
  }

 private:
  std::int64_t heads_;
  Dense query_, key_, value_, mixed_;
  torch::nn::LayerNorm mixed_norm_;
  Dense intermediate_, output_;
  torch::nn::LayerNorm output_norm_;
};

BertNetwork::BertNetwork(scenario::Model model) : Network(std::move(model)) {
  const scenario::Model& own = Network::model();
  words_ = register_module("word_embeddings", normal_embedding(own.vocabulary_size(), own.width));
  positions_ = register_module("position_embeddings", normal_embedding(own.position_count(), own.width));
  types_ = register_module("token_type_embeddings", normal_embedding(token_types, own.width));
  norm_ = register_module("embedding_norm", layer_norm(own.width, bert_epsilon));
  const auto layers = register_module("layer", std::make_shared<torch::nn::Module>());
  for (std::int64_t i = 0; i < own.layers; ++i)
    layers_.push_back(layers->register_module(std::to_string(i), std::make_shared<Layer>(own.width, own.heads)));
  const auto head = register_module("head", std::make_shared<torch::nn::Module>());
  head_bias_ = head->register_parameter("bias", torch::zeros({own.vocabulary_size()}));
  head_ = head->register_module("dense", normal_dense(own.width, own.width));
  head_norm_ = head->register_module("norm", layer_norm(own.width, bert_epsilon));
}

torch::Tensor BertNetwork::forward(const std::vector<torch::Tensor>& inputs) {
  const torch::Tensor& tokens = inputs.at(0);
  const auto options = torch::TensorOptions(torch::kLong).device(tokens.device());
  const auto words = words_->forward(tokens);
  const auto places = words + positions_->forward(torch::arange(tokens.size(1), options));
  auto x = places + types_->forward(torch::zeros_like(tokens));
  x = norm_->forward(x);
  for (const auto& layer : layers_) x = layer->forward(x);
  x = head_norm_->forward(torch::gelu(head_->forward(x)));
  return torch::linear(x, words_->weight, head_bias_);
}

}  // namespace ddpprof::worker
