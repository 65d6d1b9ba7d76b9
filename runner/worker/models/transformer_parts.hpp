// Common parts of both transformers: initial weights and multi-head attention.
#pragma once

#include "runner/worker/models/dense.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

constexpr double transformer_sigma = 0.02;  // GPT-2's and BERT's

inline Dense normal_dense(std::int64_t in, std::int64_t out, double sigma = transformer_sigma) {
  Dense layer(in, out);
  const torch::NoGradGuard no_grad;
  layer->weight.normal_(0.0, sigma);
  layer->bias.zero_();
  return layer;
}

inline torch::nn::Embedding normal_embedding(std::int64_t rows, std::int64_t width) {
  torch::nn::Embedding table(rows, width);
  const torch::NoGradGuard no_grad;
  table->weight.normal_(0.0, transformer_sigma);
  return table;
}

inline torch::nn::LayerNorm layer_norm(std::int64_t width, double epsilon) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(epsilon));
}

// Query, key, value and the result are batch × tokens × width.
inline torch::Tensor attend(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value,
                            std::int64_t heads, bool causal) {
  const auto batch = query.size(0), tokens = query.size(1), width = query.size(2);
  const auto split = [&](const torch::Tensor& x) {
    return x.view({batch, tokens, heads, width / heads}).transpose(1, 2);
  };
  const auto q = split(query), k = split(key), v = split(value);  // in this order, as the models' forwards are
  const auto mixed = at::scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0, causal);
  return mixed.transpose(1, 2).contiguous().view({batch, tokens, width});
}

}  // namespace ddpprof::worker
