#include "runner/worker/ddp/distributed_data_parallel.hpp"

#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/default_comm_hooks.hpp>

#include "runner/worker/annotate.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

constexpr std::size_t broadcast_bytes = std::size_t{250} << 20;  // Python's broadcast_bucket_size

std::int64_t cap_bytes(double mib) { return static_cast<std::int64_t>(mib * 1024 * 1024); }

std::int64_t number(const std::map<std::string, std::int64_t>& numbers, const char* key) {
  const auto found = numbers.find(key);
  return found == numbers.end() ? -1 : found->second;
}

// torch 2.11 has a further parameter: limits of single buckets, which Python's DDP does not set either.
template <class... Arguments>
std::shared_ptr<c10d::Reducer> make_reducer(const Arguments&... arguments) {
  using Limits = std::vector<std::int64_t>;
  if constexpr (std::is_constructible_v<c10d::Reducer, const Arguments&..., Limits>)
    return std::make_shared<c10d::Reducer>(arguments..., Limits{});
  else
    return std::make_shared<c10d::Reducer>(arguments...);
}

}  // namespace

void mark_parameters(const Network& network) {
  std::int64_t index = 0;
  for (const auto& item : network.named_parameters())
    if (item.value().requires_grad())
      annotate::parameter({index++, item.value().numel(), static_cast<std::int64_t>(item.value().nbytes())},
                          item.key());
}

std::vector<std::shared_ptr<torch::autograd::Node>> hook_gradients(const std::vector<torch::Tensor>& parameters,
                                                                   const bool* enabled) {
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators;
  if (!annotate::attached()) return accumulators;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto accumulator = torch::autograd::impl::grad_accumulator(parameters[i]);
    accumulator->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
        [enabled, i](const torch::autograd::variable_list& outputs, const torch::autograd::variable_list&) {
          if (*enabled) annotate::grad_ready(static_cast<std::int64_t>(i));
          return outputs;
        }));
    accumulators.push_back(std::move(accumulator));
  }
  return accumulators;
}

DistributedDataParallel::DistributedDataParallel(std::shared_ptr<Network> module, Group& group,
                                                 const scenario::DdpOptions& options)
    : module_(std::move(module)),
      group_(group),
      broadcasts_buffers_(options.broadcast_buffers),
      finds_unused_(options.find_unused_parameters && !options.static_graph),
      static_graph_(options.static_graph) {
  std::unordered_map<std::size_t, std::string> names;
  for (const auto& item : module_->named_parameters()) {
    if (!item.value().requires_grad()) continue;
    names[parameters_.size()] = item.key();
    parameters_.push_back(item.value());
  }
  buffers_ = module_->buffers();
  accumulators_ = hook_gradients(parameters_, &synchronizing_);  // before the Reducer's own hooks

  c10d::verify_params_across_processes(group_.process_group, parameters_, std::nullopt);
  status::set(status::Activity::broadcasting);
  std::vector<torch::Tensor> state;
  for (const auto& tensor : module_->parameters()) state.push_back(tensor.detach());  // including frozen parameters
  if (broadcasts_buffers_)
    for (const auto& tensor : buffers_) state.push_back(tensor.detach());
  c10d::broadcast_coalesced(group_.process_group, state, broadcast_bytes, 0);

  const std::int64_t cap = options.bucket_cap_mb ? cap_bytes(*options.bucket_cap_mb) : c10d::kDefaultBucketBytesCap;
  const std::int64_t first_cap = options.bucket_cap_mb ? cap : c10d::kDefaultFirstBucketBytes;
  // The first iteration has one bucket per dtype and device; the size limits apply after the rebuild. With
  // find_unused_parameters buckets are never rebuilt, so the limits apply at once.
  std::vector<std::size_t> limits{static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max())};
  if (finds_unused_) limits = {static_cast<std::size_t>(first_cap), static_cast<std::size_t>(cap)};
  if (finds_unused_ && options.bucket_cap_mb) limits.pop_back();
  const std::vector<bool> sparse(parameters_.size(), false);
  auto assignment = std::get<0>(c10d::compute_bucket_assignment_by_size(parameters_, limits, sparse));
  first_buckets_.assign(assignment.rbegin(), assignment.rend());
  reducer_ = make_reducer(parameters_, first_buckets_, group_.process_group, sparse, cap, options.find_unused_parameters,
                          options.gradient_as_bucket_view, names, first_cap, /*skip_all_reduce_unused_params=*/false,
                          /*use_python_reducer=*/false);
  logger_ = std::make_shared<c10d::Logger>(reducer_);
  reducer_->set_logger(logger_);
  const auto device = parameters_.front().device();
  logger_->set_construction_data_and_log(
      module_->model().label(), device.is_cuda() ? std::vector<int>{device.index()} : std::vector<int>{},
      device.is_cuda() ? device.index() : -1, broadcasts_buffers_, /*has_sync_bn=*/false, static_graph_);
  if (static_graph_) reducer_->set_static_graph();
  if (options.compression == scenario::Compression::fp16)
    reducer_->register_builtin_comm_hook(c10d::BuiltinCommHookType::FP16_COMPRESS);
  mark_parameters(*module_);
  mark_buckets(0, first_buckets_);
}

void DistributedDataParallel::prepare_forward(bool synchronize) {
  synchronizing_ = synchronize;
  if (synchronize) {
    logger_->set_runtime_stats_and_log();  // of the previous iteration
    collect_logged_iteration();
    reducer_->prepare_for_forward();
  }
  if (reducer_->rebuild_buckets()) {
    rebuilt_buckets_ = logger_->get_per_bucket_variable_indices();
    mark_buckets(1, rebuilt_buckets_);
  }
  if (forward_sync_due_) broadcast_buffers();
}

torch::Tensor DistributedDataParallel::forward(const std::vector<torch::Tensor>& inputs) {
  auto output = module_->forward(inputs);
  forward_sync_due_ = synchronizing_;
  if (synchronizing_) {
    reducer_->prepare_for_backward(finds_unused_ ? std::vector<torch::Tensor>{output} : std::vector<torch::Tensor>{});
    group_.backend->begin_gradient_buckets();
  }
  if (static_graph_ && !delayed_reduce_queued_ && output.requires_grad()) {
    // Like Python's sink: the first backward of a static graph reduces all gradients at its end.
    output.register_hook([this](const torch::Tensor&) {
      if (delayed_reduce_queued_) return;
      delayed_reduce_queued_ = true;
      torch::autograd::Engine::get_default_engine().queue_callback([this] { reducer_->delay_all_reduce(); });
    });
  }
  return output;
}

void DistributedDataParallel::backward(const torch::Tensor& loss) {
  loss.backward();
  if (!synchronizing_) return;
  const std::int64_t first_launch = group_.backend->first_bucket_launch_ns();
  last_comm_ns_ = first_launch == 0 ? 0 : monotonic_ns() - first_launch;
  group_.backend->end_gradient_buckets();
  ++iterations_;
}

void DistributedDataParallel::broadcast_buffers() {
  if (!broadcasts_buffers_ || buffers_.empty()) return;
  const annotate::Range range(annotate::Name::buffers);
  c10d::broadcast_coalesced(group_.process_group, buffers_, broadcast_bytes, 0);
}

void DistributedDataParallel::collect_logged_iteration() {
  if (iterations_ == 0 || (iterations_ > 10 && iterations_ % c10d::kDDPRuntimeLoggingSampleRate != 0)) return;
  const auto numbers = logger_numbers();
  // If this iteration was not sampled, get_ddp_logging_data() returns the last sample again.
  const std::int64_t iteration = number(numbers, "iteration");
  if (iteration != iterations_ || (!logged_.empty() && logged_.back().iteration == iteration)) return;
  logged_.push_back({iteration, number(numbers, "forward_compute_time"), number(numbers, "backward_compute_time"),
                     number(numbers, "backward_comm_time"), number(numbers, "backward_compute_comm_overlap_time"),
                     last_comm_ns_});
}

void DistributedDataParallel::mark_buckets(std::int32_t generation, const Buckets& buckets) {
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket)
    for (const auto parameter : buckets[bucket])
      annotate::bucket_member({generation, static_cast<std::int32_t>(bucket), static_cast<std::int64_t>(parameter)});
}

}  // namespace ddpprof::worker
