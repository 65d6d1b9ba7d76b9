// Squared norms of DDP's gradient before and after the all-reduce, in every k-th step: the noise scale is made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runner/worker/loop/context.hpp"
#include "runner/worker/models/network.hpp"
#include "runner/worker/process_group/process_group.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// Squared, of one step: this rank's own gradient and the averaged one.
struct StepNorms {
  double local_sqr = 0.0, whole_sqr = 0.0;
};

// |t|^2 as one double on the tensor's device, of any floating type. Rows of 16384 are summed in single precision, the
// rows in double: 4e-8 from the exact sum at 26 MB, where single precision alone loses 1e-4.
torch::Tensor squared_norm(const torch::Tensor&);

// Marks both norms in the step that they are of (vocabulary.hpp), each rank its own: no collective is added. Every
// measure.gradient_noise_every steps where a tool listens, or in every step; never on one rank without accumulation,
// where there is nothing to compare.
class GradientNorms {
 public:
  GradientNorms(const Context&, Group&, bool every_step);
  ~GradientNorms();
  GradientNorms(const GradientNorms&) = delete;
  GradientNorms& operator=(const GradientNorms&) = delete;

  // Around one optimizer step, in this order. `end` before the optimizer: its gradients are the averaged ones. Where
  // the loss is divided by the micro-batches, as here, the gradient of one is that many times what stands in .grad.
  void begin(std::int64_t step);
  void after_micro_batch(Network&, std::int64_t micro_batch);
  std::optional<StepNorms> end(Network&);  // nothing where this step's were not taken

 private:
  Group& group_;
  const bool every_step_;
  const std::int64_t every_;
  const bool alone_;    // one rank: the first micro-batch takes the ranks' place
  const double parts_;  // ranks, or micro-batches: a part's gradient was divided by them
  bool taking_ = false;
  std::vector<torch::Tensor> local_;  // of the buckets so far
};

}  // namespace ddpprof::worker
