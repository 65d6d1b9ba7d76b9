// Synthetic samples of the models whose input is not one row of numbers: tokens, table indices, a user's tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "runner/scenario/scenario.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

bool is_structured(const scenario::Model& model);  // gpt, bert, recommender, torchscript

struct StructuredSamples {
  std::vector<torch::Tensor> inputs;  // each `count` × its shape
  torch::Tensor targets;              // `count` × the target's shape
};

// Samples 0 to count - 1; sample i depends only on (seed, i). Each kind can be learned:
// gpt: each token mostly depends on the previous token; the target of a place is the next token. bert: the same text
// with 15 % of the tokens hidden (token 103, BERT's [MASK]); the target is -100 (ignored) everywhere else. recommender:
// table rows are drawn with most weight on the first ones, and the answer is a coin weighted by the numbers and the
// rows. torchscript: normal numbers and uniform whole ones as the scenario says; a label shifts the first float32 input
// by half of its own normal pattern; a float32 target is the mean of that input, repeated, with a tenth of noise. loss:
// model puts the target last among the inputs.
StructuredSamples make_structured(const scenario::Workload& workload, std::int64_t count);

}  // namespace ddpprof::worker
