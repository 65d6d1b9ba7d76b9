// What a rank trains on: synthetic samples or those of files, and batches of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runner/scenario/scenario.hpp"
#include "runner/worker/data/image_transform.hpp"
#include "runner/worker/data/sampler.hpp"
#include "runner/worker/data/samples.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// Synthetic sample i depends on (seed, i) alone. Classification: the label is drawn at random and the input is normal
// noise plus half of that label's own normal pattern. Regression: the input is normal and the target a fixed random
// linear map of it. Tokens, tables and a user's own tensors: structured.hpp. At most `pool_bytes` of inputs are kept; a
// larger data set repeats its first samples (i modulo pool_size()), so that making a batch costs a copy and never
// random numbers. Files are kept whole, as bytes or float32, on every rank (as Python's MNIST and TensorDataset are).
class Dataset {
 public:
  static constexpr std::int64_t pool_bytes = synthetic_pool_bytes;

  // The same on every rank. Throws DataError when files are missing, damaged or do not fit.
  Dataset(const scenario::Workload& workload);

  struct Batch {
    std::vector<torch::Tensor> inputs;  // each batch × its sample shape
    torch::Tensor targets;              // int64 labels, or float32 batch × outputs
  };
  // From any thread. `picks.streams` seed the transform.
  Batch batch(const Picks& picks) const;
  Batch batch(const std::vector<std::int64_t>& indices) const;  // without a transform

  std::int64_t samples() const { return samples_.count; }
  std::int64_t pool_size() const { return samples_.targets.size(0); }
  // 1 / (samples of its class) for each sample: the sampler's weights under which all classes are as frequent.
  std::vector<double> balancing_weights() const;

 private:
  Samples samples_;
  std::vector<std::vector<std::int64_t>> shapes_;          // that the model takes
  std::vector<std::optional<ImageTransform>> transforms_;  // of inputs that are not handed on as stored
};

torch::Tensor loss_of(scenario::LossKind kind, const torch::Tensor& output, const torch::Tensor& target);

}  // namespace ddpprof::worker
