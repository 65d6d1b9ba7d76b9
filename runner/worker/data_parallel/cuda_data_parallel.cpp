#include <stdexcept>

#include "runner/worker/annotate.hpp"
#include "runner/worker/data_parallel/data_parallel.hpp"
#include "runner/worker/loop/autocast.hpp"
#include "runner/worker/status.hpp"

#ifdef USE_CUDA
#include <torch/csrc/autograd/functions/comm.h>
#include <torch/nn/parallel/data_parallel.h>
#endif

namespace ddpprof::worker {

#ifdef USE_CUDA
namespace {

using annotate::Name;
using annotate::Range;

// The module that parallel_apply calls: runs the replica's forward in its own range.
struct AnnotatedReplica {
  std::shared_ptr<Network> network;
  std::int32_t index;
  std::vector<torch::Tensor> inputs;
  bool autocast;
  torch::Tensor forward(const torch::Tensor& first) const {  // parallel_apply passes one tensor per replica
    const Range range(Name::replica_forward, vocabulary::ReplicaInfo{index, static_cast<std::int32_t>(first.size(0))});
    const Autocast scope(autocast, first.device());
    return network->forward(inputs);
  }
};

// Host ranges show when each copy is issued. The CUPTI records have the time on the device.
class CudaDataParallel : public Trainer {
 public:
  CudaDataParallel(std::shared_ptr<Network> root, PassOptions options, int replicas)
      : root_(std::move(root)), options_(options) {
    for (int i = 0; i < replicas; ++i) devices_.emplace_back(torch::kCUDA, static_cast<torch::DeviceIndex>(i));
    mark_parameters(*root_);
  }

  torch::Tensor pass(const Dataset::Batch& batch, bool, double loss_divisor) override {
    namespace parallel = torch::nn::parallel;
    const auto count = static_cast<std::int32_t>(devices_.size());
    torch::Tensor loss;
    status::set(status::Activity::forward);
    {
      const Range range(Name::forward);
      std::vector<std::vector<torch::Tensor>> parts(devices_.size());  // a replica's inputs
      {
        std::int64_t bytes = 0;
        for (const auto& input : batch.inputs) bytes += static_cast<std::int64_t>(input.nbytes());
        const Range copy(Name::scatter, vocabulary::CopyInfo{bytes, count, 0});
        for (const auto& input : batch.inputs) {
          torch::autograd::Scatter scatter(devices_);
          auto scattered = scatter.apply({input});
          for (std::size_t i = 0; i < parts.size(); ++i) parts[i].push_back(std::move(scattered.at(i)));
        }
      }
      std::vector<std::shared_ptr<AnnotatedReplica>> replicas;
      {
        const Range copy(Name::replicate, vocabulary::CopyInfo{parameter_bytes(*root_) * count, count, 0});
        std::int32_t index = 0;
        for (auto& network : parallel::replicate(root_, devices_)) {
          auto& own = parts[static_cast<std::size_t>(index)];
          replicas.push_back(
              std::make_shared<AnnotatedReplica>(AnnotatedReplica{std::move(network), index, own, options_.autocast}));
          ++index;
        }
      }
      std::vector<torch::Tensor> first;
      for (const auto& own : parts) first.push_back(own.front());
      auto outputs = parallel::parallel_apply(replicas, first, devices_);
      torch::Tensor gathered;
      {
        std::int64_t bytes = 0;
        for (const auto& output : outputs) bytes += static_cast<std::int64_t>(output.nbytes());
        const Range copy(Name::gather, vocabulary::CopyInfo{bytes, count, 0});
        const torch::NoGradGuard no_grad;
        auto own = root_->buffers();
        const auto theirs = replicas.front()->network->buffers();
        for (std::size_t i = 0; i < own.size(); ++i) own[i].copy_(theirs[i]);
        const torch::AutoGradMode grad(true);
        gathered = torch::autograd::Gather(devices_.front()).apply(std::move(outputs)).front();
      }
      const Autocast autocast(options_.autocast, devices_.front());
      loss = loss_of(options_.loss, gathered, batch.targets);
      if (loss_divisor != 1.0) loss = loss / loss_divisor;
    }
    status::set(status::Activity::backward);
    const Range range(Name::backward);  // inside it, LibTorch reduces each gradient into the root
    loss.backward();
    return loss.detach();
  }

  Network& network() override { return *root_; }

 private:
  std::shared_ptr<Network> root_;
  PassOptions options_;
  std::vector<torch::Device> devices_;
};

}  // namespace

std::unique_ptr<Trainer> make_cuda_data_parallel(std::shared_ptr<Network> root, PassOptions options, int replicas) {
  return std::make_unique<CudaDataParallel>(std::move(root), options, replicas);
}
#else
std::unique_ptr<Trainer> make_cuda_data_parallel(std::shared_ptr<Network>, PassOptions, int) {
  throw std::runtime_error("this build has no CUDA (configured with DDPPROF_CUDA=OFF or without its headers)");
}
#endif

}  // namespace ddpprof::worker
