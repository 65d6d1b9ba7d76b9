// The two transformers: a GPT-2-style decoder and a BERT-style encoder with its masked-language-model head.
#pragma once

#include "runner/worker/models/dense.hpp"
#include "runner/worker/models/network.hpp"

namespace ddpprof::worker {

// GPT-2 (Radford et al. 2019): learned positions, layer norm before each half of a block, tanh GELU, the output layer
// tied to the token embedding, no dropout. Input: int64 batch × tokens; output: batch × tokens × vocabulary. Weights
// N(0, 0.02), those that end a residual branch over sqrt(2 · layers); with the scenario's defaults 124,439,808
// parameters, the published model's.
class GptNetwork : public Network {
 public:
  explicit GptNetwork(scenario::Model model);
  torch::Tensor forward(const std::vector<torch::Tensor>& inputs) override;

 private:
  class Block;
  std::shared_ptr<Network> blank() const override { return std::make_shared<GptNetwork>(model()); }

  torch::nn::Embedding tokens_{nullptr}, positions_{nullptr};
  std::vector<std::shared_ptr<Block>> blocks_;
  torch::nn::LayerNorm norm_{nullptr};
};

// BERT (Devlin et al. 2018): layer norm after each half of a block, erf GELU, token-type embedding (all of type 0), the
// output layer tied to the token embedding with a bias of its own, no dropout and no pooler. Input: int64 batch ×
// tokens; output: batch × tokens × vocabulary. Weights N(0, 0.02); with the scenario's defaults 109,514,298 parameters,
// the published masked-language model's.
class BertNetwork : public Network {
 public:
  explicit BertNetwork(scenario::Model model);
  torch::Tensor forward(const std::vector<torch::Tensor>& inputs) override;

 private:
  class Layer;
  std::shared_ptr<Network> blank() const override { return std::make_shared<BertNetwork>(model()); }

  torch::nn::Embedding words_{nullptr}, positions_{nullptr}, types_{nullptr};
  torch::nn::LayerNorm norm_{nullptr}, head_norm_{nullptr};
  std::vector<std::shared_ptr<Layer>> layers_;
  Dense head_{nullptr};
  torch::Tensor head_bias_;
};

}  // namespace ddpprof::worker
