// Python's DistributedDataParallel in C++: LibTorch's own c10d::Reducer, driven in the order of PyTorch 2.11.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runner/scenario/scenario.hpp"
#include "runner/worker/models/network.hpp"
#include "runner/worker/process_group/process_group.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// The values of c10d::Logger for one sampled iteration (the first ten, then every hundredth), and the same interval
// measured by this class: from the first bucket's launch to the return of backward, with the last wait and copy back.
struct LoggedIteration {
  std::int64_t iteration = 0;  // number of the synchronised iteration, from 1, as in the Logger
  std::int64_t forward_compute_ns = 0, backward_compute_ns = 0, backward_comm_ns = 0, overlap_ns = 0;
  std::int64_t first_launch_to_backward_end_ns = 0;
};

class DistributedDataParallel {
 public:
  // `module` must already be on its device. Verifies the parameters across ranks, broadcasts rank 0's parameters and
  // buffers, builds Reducer and Logger, and marks parameters and first buckets in the trace.
  DistributedDataParallel(std::shared_ptr<Network> module, Group& group, const scenario::DdpOptions& options);
  DistributedDataParallel(const DistributedDataParallel&) = delete;
  DistributedDataParallel& operator=(const DistributedDataParallel&) = delete;

  // One pass calls prepare_forward(), forward(), backward(), like Python's _pre_forward, forward and backward.
  // `synchronize` false is Python's no_sync(): the pass only accumulates gradients.
  void prepare_forward(bool synchronize = true);  // rebuilds the buckets once; broadcasts the buffers
  torch::Tensor forward(const std::vector<torch::Tensor>& inputs);
  void backward(const torch::Tensor& loss);

  const std::shared_ptr<Network>& module() const { return module_; }
  using Buckets = std::vector<std::vector<std::size_t>>;  // parameter indices, in launch order
  const Buckets& first_buckets() const { return first_buckets_; }
  const Buckets& rebuilt_buckets() const { return rebuilt_buckets_; }  // empty until the buckets are rebuilt
  const std::vector<LoggedIteration>& logged() const { return logged_; }
  std::map<std::string, std::int64_t> logger_numbers() const { return logger_->get_ddp_logging_data().ints_map; }

 private:
  void mark_buckets(std::int32_t generation, const Buckets& buckets);
  void broadcast_buffers();
  void collect_logged_iteration();

  std::shared_ptr<Network> module_;
  Group& group_;
  std::vector<torch::Tensor> parameters_, buffers_;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;  // keep the owners of the hooks alive
  std::shared_ptr<c10d::Reducer> reducer_;
  std::shared_ptr<c10d::Logger> logger_;  // declared after the reducer, so it is destroyed first
  const bool broadcasts_buffers_;
  const bool finds_unused_;  // then the buckets are never rebuilt
  const bool static_graph_;
  bool delayed_reduce_queued_ = false;  // static graph: queued once, in the first backward
  bool forward_sync_due_ = true;        // Python's require_forward_param_sync
  bool synchronizing_ = false;
  Buckets first_buckets_, rebuilt_buckets_;
  std::int64_t iterations_ = 0;  // synchronised
  std::int64_t last_comm_ns_ = 0;
  std::vector<LoggedIteration> logged_;
};

// Adds a hook to every parameter: while `*enabled` is true, each backward sets one `grad_ready` mark per parameter,
// before hooks that are added later. Returns the accumulators, which must outlive training.
std::vector<std::shared_ptr<torch::autograd::Node>> hook_gradients(const std::vector<torch::Tensor>& parameters,
                                                                   const bool* enabled);

// Sets one mark per trainable parameter: index in registration order (as in buckets), name, size.
void mark_parameters(const Network& network);

}  // namespace ddpprof::worker
