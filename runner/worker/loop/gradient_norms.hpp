// Squared norms of DDP's gradient before and after the all-reduce, in every k-th step. The gradient noise scale is
// computed from them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runner/worker/loop/context.hpp"
#include "runner/worker/models/network.hpp"
#include "runner/worker/process_group/process_group.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// Squared norms of one step: of this rank's gradient and of the averaged gradient.
struct StepNorms {
  double local_sqr = 0.0, whole_sqr = 0.0;
};

// Returns |t|^2 as one double on the tensor's device, for any floating type. Rows of 16384 are summed in single
// precision, the rows in double: the error is 4e-8 at 26 MB, compared with 1e-4 in single precision.
torch::Tensor squared_norm(const torch::Tensor&);

// Marks both norms in their step (vocabulary.hpp), on each rank its own norm: no collective is added. Measures every
// measure.gradient_noise_every steps if a tool is attached, or in every step. Does not measure on one rank without
// accumulation, since both norms are equal there.
class GradientNorms {
 public:
  GradientNorms(const Context&, Group&, bool every_step);
  ~GradientNorms();
  GradientNorms(const GradientNorms&) = delete;
  GradientNorms& operator=(const GradientNorms&) = delete;

  // Call these in this order for each optimizer step, `end` before the optimizer's step: its gradients are the averaged
  // gradients. Since the loss is divided by the number of micro-batches, the gradient of one micro-batch is .grad times
  // that number.
  void begin(std::int64_t step);
  void after_micro_batch(Network&, std::int64_t micro_batch);
  std::optional<StepNorms> end(Network&);  // nullopt if this step was not measured

 private:
  Group& group_;
  const bool every_step_;
  const std::int64_t every_;
  const bool alone_;    // one rank: the first micro-batch is compared with the whole batch
  const double parts_;  // ranks, or micro-batches: a part's gradient was divided by this number
  bool taking_ = false;
  std::vector<torch::Tensor> local_;  // squared norms of the buckets so far
};

}  // namespace ddpprof::worker
