// DataParallel: one process with a root model and one replica per device (or CPU thread). Every copy is timed.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "runner/worker/data_parallel/replica_threads.hpp"
#include "runner/worker/loop/trainer.hpp"

namespace ddpprof::worker {

// On CPUs each replica has its own storage, and its own thread for forward and backward. LibTorch's parallel_apply is
// not used: with one intra-op thread it runs the replicas one after another, and backward on the calling thread.
// The steps are those of torch.nn.DataParallel: replicate (root -> every replica), scatter the inputs, forward, gather
// the outputs, loss on the root, scatter the output's gradient, backward, reduce the gradients into the root. The
// BatchNorm statistics of replica 0 are copied back to the root.
class CpuDataParallel : public Trainer {
 public:
  CpuDataParallel(std::shared_ptr<Network> root, PassOptions options, int replicas, int threads_per_replica,
                  std::chrono::milliseconds timeout);
  torch::Tensor pass(const Dataset::Batch& batch, bool synchronize, double loss_divisor) override;
  Network& network() override { return *root_; }

 private:
  struct Replica {
    std::shared_ptr<Network> network;
    std::vector<torch::Tensor> parameters, buffers;
    std::vector<torch::Tensor> inputs;
    torch::Tensor output, output_gradient;
  };
  void replicate();
  void scatter(const std::vector<torch::Tensor>& inputs);
  torch::Tensor gather();
  void scatter_gradient(const torch::Tensor& gradient);
  void reduce();

  std::shared_ptr<Network> root_;
  std::vector<torch::Tensor> parameters_, buffers_;
  std::int64_t model_bytes_ = 0, parameter_bytes_ = 0;
  PassOptions options_;
  std::vector<Replica> replicas_;
  ReplicaThreads threads_;
};

// On GPUs: LibTorch's own replicate, parallel_apply and gather over the first `replicas` devices.
// Throws std::runtime_error in a build without CUDA.
std::unique_ptr<Trainer> make_cuda_data_parallel(std::shared_ptr<Network> root, PassOptions options, int replicas);

}  // namespace ddpprof::worker
