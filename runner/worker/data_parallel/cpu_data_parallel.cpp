#include "runner/worker/annotate.hpp"
#include "runner/worker/data_parallel/data_parallel.hpp"
#include "runner/worker/loop/autocast.hpp"
#include "runner/worker/memory/counting_allocator.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {

using annotate::Name;
using annotate::Range;

namespace {
std::int64_t tensor_bytes(const std::vector<torch::Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const auto& tensor : tensors) bytes += static_cast<std::int64_t>(tensor.nbytes());
  return bytes;
}
}  // namespace

CpuDataParallel::CpuDataParallel(std::shared_ptr<Network> root, PassOptions options, int replicas,
                                 int threads_per_replica, std::chrono::milliseconds timeout)
    : root_(std::move(root)), options_(options), threads_(replicas, threads_per_replica, timeout) {
  parameters_ = root_->parameters();
  buffers_ = root_->buffers();
  parameter_bytes_ = tensor_bytes(parameters_);
  model_bytes_ = parameter_bytes_ + tensor_bytes(buffers_);
  for (int i = 0; i < replicas; ++i) {
    const memory::For own(i);
    Replica replica;
    replica.network = clone_network(*root_);
    replica.parameters = replica.network->parameters();
    replica.buffers = replica.network->buffers();
    replicas_.push_back(std::move(replica));
  }
  mark_parameters(*root_);
}

torch::Tensor CpuDataParallel::pass(const Dataset::Batch& batch, bool, double loss_divisor) {
  torch::Tensor gathered, loss;
  status::set(status::Activity::forward);
  {
    const Range range(Name::forward);
    replicate();
    scatter(batch.inputs);
    threads_.run([this](int index) {
      auto& replica = replicas_[static_cast<std::size_t>(index)];
      const Range own(Name::replica_forward,
                      vocabulary::ReplicaInfo{index, static_cast<std::int32_t>(replica.inputs[0].size(0))});
      const Autocast autocast(options_.autocast, torch::kCPU);
      replica.output = replica.network->forward(replica.inputs);
    });
    gathered = gather().requires_grad_();
    const Autocast autocast(options_.autocast, torch::kCPU);
    loss = loss_of(options_.loss, gathered, batch.targets);
    if (loss_divisor != 1.0) loss = loss / loss_divisor;
  }
  status::set(status::Activity::backward);
  const Range range(Name::backward);
  scatter_gradient(torch::autograd::grad({loss}, {gathered}).front());
  threads_.run([this](int index) {
    auto& replica = replicas_[static_cast<std::size_t>(index)];
    const Range own(Name::replica_backward,
                    vocabulary::ReplicaInfo{index, static_cast<std::int32_t>(replica.inputs[0].size(0))});
    replica.output.backward(replica.output_gradient);
    replica.output.reset();
    replica.output_gradient.reset();
    replica.inputs.clear();
  });
  reduce();
  return loss.detach();
}

void CpuDataParallel::replicate() {
  const torch::NoGradGuard no_grad;
  const auto count = static_cast<std::int32_t>(replicas_.size());
  const Range range(Name::replicate, vocabulary::CopyInfo{model_bytes_ * count, count, 0});
  for (auto& replica : replicas_) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) replica.parameters[i].copy_(parameters_[i]);
    for (std::size_t i = 0; i < buffers_.size(); ++i) replica.buffers[i].copy_(buffers_[i]);
  }
}

void CpuDataParallel::scatter(const std::vector<torch::Tensor>& inputs) {
  const auto count = static_cast<std::int32_t>(replicas_.size());
  if (inputs[0].size(0) < count)
    throw std::invalid_argument("DataParallel: a batch of " + std::to_string(inputs[0].size(0)) +
                                " cannot be split over " + std::to_string(count) +
                                " replicas; raise workload.batch_per_worker");
  const Range range(Name::scatter, vocabulary::CopyInfo{tensor_bytes(inputs), count, 0});
  for (auto& replica : replicas_) replica.inputs.clear();
  for (const auto& input : inputs) {
    const auto parts = input.tensor_split(count);
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
      const memory::For own(static_cast<int>(i));
      replicas_[i].inputs.push_back(parts[i].clone());
    }
  }
}

torch::Tensor CpuDataParallel::gather() {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> outputs;
  for (const auto& replica : replicas_) outputs.push_back(replica.output.detach());
  const auto buffer_bytes = model_bytes_ - parameter_bytes_;
  const Range range(Name::gather, vocabulary::CopyInfo{tensor_bytes(outputs) + buffer_bytes,
                                                       static_cast<std::int32_t>(replicas_.size()), 0});
  for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].copy_(replicas_.front().buffers[i]);
  return torch::cat(outputs);
}

void CpuDataParallel::scatter_gradient(const torch::Tensor& gradient) {
  const auto count = static_cast<std::int32_t>(replicas_.size());
  const Range range(Name::scatter, vocabulary::CopyInfo{static_cast<std::int64_t>(gradient.nbytes()), count, 0});
  const auto parts = gradient.tensor_split(count);
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    const memory::For own(static_cast<int>(i));
    replicas_[i].output_gradient = parts[i].clone();
  }
}

void CpuDataParallel::reduce() {
  const torch::NoGradGuard no_grad;
  const auto count = static_cast<std::int32_t>(replicas_.size());
  const Range range(Name::reduce, vocabulary::CopyInfo{parameter_bytes_ * count, count, 0});
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto& target = parameters_[i].mutable_grad();
    for (auto& replica : replicas_) {
      auto& gradient = replica.parameters[i].mutable_grad();
      if (!gradient.defined()) continue;
      if (target.defined())
        target.add_(gradient);
      else
        target = gradient.clone();
      gradient.reset();
    }
  }
}

}  // namespace ddpprof::worker
