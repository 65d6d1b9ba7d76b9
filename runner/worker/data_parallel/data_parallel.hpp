// DataParallel: one process, a root model, a replica a device (or CPU thread), and every copy between them timed.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "runner/worker/data_parallel/replica_threads.hpp"
#include "runner/worker/loop/trainer.hpp"

namespace ddpprof::worker {

// On CPUs each replica has storage of its own and runs its forward and its backward on its own thread; LibTorch's
// parallel_apply would run them one after another with one intra-op thread, and its backward on the calling thread.
// The steps are those of torch.nn.DataParallel: replicate (root -> every replica), scatter the inputs, forward, gather
// the outputs, loss on the root, scatter the output's gradient, backward, reduce the gradients into the root. Replica
// 0's BatchNorm statistics go back to the root.
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
