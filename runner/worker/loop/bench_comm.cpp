#include "runner/worker/loop/bench_comm.hpp"

#include <algorithm>

#include "runner/worker/annotate.hpp"
#include "runner/worker/loop/clock_exchange.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

std::int64_t all_reduce_ns(c10d::ProcessGroup& group, std::vector<at::Tensor>& data, bool cuda) {
  const std::int64_t begin = monotonic_ns();
  group.allreduce(data)->wait();
  if (cuda) torch::cuda::synchronize();
  return monotonic_ns() - begin;
}

}  // namespace

nlohmann::json bench_comm(const Context& context, Group& group, const BenchCommOptions& options) {
  const bool cuda = context.device.is_cuda();
  at::set_num_threads(context.threads);
  exchange_clocks(*group.control);
  auto samples = nlohmann::json::array();
  std::int64_t done = 0;
  for (std::int64_t bytes = options.first_bytes; bytes <= options.last_bytes; bytes *= options.factor) {
    // Zeros stay zeros however often they are summed: no overflow, no denormals.
    std::vector<at::Tensor> data{
        torch::zeros({bytes / std::int64_t{sizeof(float)}}, torch::TensorOptions(context.device).dtype(torch::kFloat))};
    status::set(status::Activity::all_reduce, done);
    all_reduce_ns(*group.process_group, data, cuda);
    const std::int64_t once_ns = std::max<std::int64_t>(1, all_reduce_ns(*group.process_group, data, cuda));
    const auto fit = static_cast<std::int64_t>(options.seconds_per_size * 1e9 / static_cast<double>(once_ns));
    std::vector<at::Tensor> iterations{torch::full({1}, std::clamp(fit, options.least, options.most), torch::kLong)};
    group.control->broadcast(iterations)->wait();
    const auto count = iterations.front().item<std::int64_t>();
    status::set_steps_planned(done + count);
    for (std::int64_t i = 0; i < count; ++i) {
      status::set(status::Activity::all_reduce, done++);
      samples.push_back({bytes, i, all_reduce_ns(*group.process_group, data, cuda)});
    }
  }
  exchange_clocks(*group.control);
  return {{"samples", std::move(samples)}};
}

}  // namespace ddpprof::worker
