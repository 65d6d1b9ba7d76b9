#include "runner/worker/loop/bench_comm.hpp"

#include <algorithm>
#include <ctime>

#include "runner/worker/annotate.hpp"
#include "runner/worker/loop/clock_exchange.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

struct Taken {
  std::int64_t duration_ns, processor_ns;
};

// Of all threads of this process: the one that waits and those that carry the bytes.
std::int64_t processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

Taken all_reduce(c10d::ProcessGroup& group, std::vector<at::Tensor>& data, bool cuda) {
  const std::int64_t used = processor_ns(), begin = monotonic_ns();
  group.allreduce(data)->wait();
  if (cuda) torch::cuda::synchronize();
  return {monotonic_ns() - begin, processor_ns() - used};
}

}  // namespace

nlohmann::json bench_comm(const Context& context, Group& group, const BenchCommOptions& options) {
  const bool cuda = context.device.is_cuda();
  at::set_num_threads(context.threads);
  exchange_clocks(*group.control);
  auto samples = nlohmann::json::array();
  auto warnings = nlohmann::json::array();
  std::int64_t done = 0;
  for (std::int64_t bytes = options.first_bytes; bytes <= options.last_bytes; bytes *= options.factor) {
    // Zeros stay zeros however often they are summed: no overflow, no denormals.
    std::vector<at::Tensor> data{
        torch::zeros({bytes / std::int64_t{sizeof(float)}}, torch::TensorOptions(context.device).dtype(torch::kFloat))};
    status::set(status::Activity::all_reduce, done);
    all_reduce(*group.process_group, data, cuda);
    const std::int64_t once_ns = std::max<std::int64_t>(1, all_reduce(*group.process_group, data, cuda).duration_ns);
    const auto fit = static_cast<std::int64_t>(options.seconds_per_size * 1e9 / static_cast<double>(once_ns));
    const bool slow = static_cast<double>(once_ns * options.factor) > options.longest_s * 1e9;
    std::vector<at::Tensor> decided{
        torch::tensor({std::clamp(fit, options.least, options.most), std::int64_t{slow}}, torch::kLong)};
    group.control->broadcast(decided)->wait();
    const auto count = decided.front()[0].item<std::int64_t>();
    status::set_steps_planned(done + count);
    for (std::int64_t i = 0; i < count; ++i) {
      status::set(status::Activity::all_reduce, done++);
      const Taken taken = all_reduce(*group.process_group, data, cuda);
      samples.push_back({bytes, i, taken.duration_ns, taken.processor_ns});
    }
    if (decided.front()[1].item<std::int64_t>() != 0 && bytes < options.last_bytes) {
      warnings.push_back({{"code", "sizes_left_out"},
                          {"message", "all-reduces of more than " + std::to_string(bytes) +
                                          " bytes were left out: one would take over " +
                                          std::to_string(static_cast<int>(options.longest_s)) + " s"},
                          {"advice", "predictions for larger buckets go on from the largest size that was timed"}});
      break;
    }
  }
  exchange_clocks(*group.control);
  return {{"samples", std::move(samples)}, {"warnings", std::move(warnings)}};
}

}  // namespace ddpprof::worker
