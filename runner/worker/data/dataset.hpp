// The data set of a rank (synthetic samples or samples from files) and its batches.
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

// Synthetic sample i depends only on (seed, i). Classification: the label is drawn at random and the input is normal
// noise plus half of that label's own normal pattern. Regression: the input is normal and the target a fixed random
// linear map of it. Tokens, tables and a user's own tensors: structured.hpp. At most `pool_bytes` of inputs are stored.
// A larger data set repeats its first samples (i modulo pool_size()): making a batch then costs a copy, and no random
// numbers. Files are stored completely, as bytes or float32, on every rank (like Python's MNIST and TensorDataset).
class Dataset {
 public:
  static constexpr std::int64_t pool_bytes = synthetic_pool_bytes;

  // Makes the same data set on every rank. Throws DataError if files are missing, damaged or do not fit the model.
  Dataset(const scenario::Workload& workload);

  struct Batch {
    std::vector<torch::Tensor> inputs;  // each batch × its sample shape
    torch::Tensor targets;              // int64 labels, or float32 batch × outputs
  };
  // May be called from any thread. `picks.streams` seed the transform.
  Batch batch(const Picks& picks) const;
  Batch batch(const std::vector<std::int64_t>& indices) const;  // without a transform

  std::int64_t samples() const { return samples_.count; }
  std::int64_t pool_size() const { return samples_.targets.size(0); }
  // Returns 1 / (samples of its class) for each sample. With these weights the sampler takes all classes equally often.
  std::vector<double> balancing_weights() const;

 private:
  Samples samples_;
  std::vector<std::vector<std::int64_t>> shapes_;          // input shapes of the model
  std::vector<std::optional<ImageTransform>> transforms_;  // empty for inputs that are used as stored
};

torch::Tensor loss_of(scenario::LossKind kind, const torch::Tensor& output, const torch::Tensor& target);

}  // namespace ddpprof::worker
