#include "runner/worker/loop/bench_comm.hpp"

#include <algorithm>
#include <ctime>

#include "runner/worker/annotate.hpp"
#include "runner/worker/loop/clock_exchange.hpp"
#include "runner/worker/status.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::worker {
namespace {

struct Taken {
  std::int64_t duration_ns, processor_ns;
};

// Returns the processor time of all threads of this process: the waiting thread and those that copy the bytes.
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

std::int64_t rank_0_says(c10d::ProcessGroup& control, std::int64_t number) {
  std::vector<at::Tensor> said{torch::full({1}, number, torch::kLong)};
  control.broadcast(said)->wait();
  return said.front().item<std::int64_t>();
}

struct SizeTime {
  double bytes, time_s;
};

// Returns the expected duration for `bytes`, on the line through the last two sizes. With one size there is no line.
double next_s(const std::vector<SizeTime>& taken, double bytes) {
  if (taken.size() < 2) return 0.0;
  const SizeTime &before = taken[taken.size() - 2], &last = taken.back();
  const double s_per_byte = std::max(0.0, (last.time_s - before.time_s) / (last.bytes - before.bytes));
  return last.time_s + s_per_byte * (bytes - last.bytes);
}

}  // namespace

nlohmann::json bench_comm(const Context& context, Group& group, const BenchCommOptions& options) {
  const bool cuda = context.device.is_cuda();
  at::set_num_threads(context.threads);
  exchange_clocks(*group.control);
  auto samples = nlohmann::json::array();
  auto warnings = nlohmann::json::array();
  std::vector<SizeTime> taken_s;
  std::int64_t done = 0;
  for (std::int64_t bytes = options.first_bytes; bytes <= options.last_bytes; bytes *= options.factor) {
    // Sums of zeros are zeros: no overflow, no denormals.
    std::vector<at::Tensor> data{
        torch::zeros({bytes / std::int64_t{sizeof(float)}}, torch::TensorOptions(context.device).dtype(torch::kFloat))};
    status::set(status::Activity::all_reduce, done);
    all_reduce(*group.process_group, data, cuda);
    const std::int64_t once_ns = std::max<std::int64_t>(1, all_reduce(*group.process_group, data, cuda).duration_ns);
    const auto fit = static_cast<std::int64_t>(options.seconds_per_size * 1e9 / static_cast<double>(once_ns));
    const std::int64_t count = rank_0_says(*group.control, std::clamp(fit, options.least, options.most));
    status::set_steps_planned(done + count);
    std::vector<double> durations_s;
    for (std::int64_t i = 0; i < count; ++i) {
      status::set(status::Activity::all_reduce, done++);
      const Taken taken = all_reduce(*group.process_group, data, cuda);
      samples.push_back({bytes, i, taken.duration_ns, taken.processor_ns});
      durations_s.push_back(static_cast<double>(taken.duration_ns) * 1e-9);
    }
    taken_s.push_back({static_cast<double>(bytes), stats::median(durations_s)});
    const bool too_long = next_s(taken_s, static_cast<double>(bytes * options.factor)) > options.longest_s;
    if (rank_0_says(*group.control, too_long) != 0 && bytes * options.factor <= options.last_bytes) {
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
