#include "runner/worker/loop/context.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

constexpr double launcher_start_s = 120.0, launcher_margin_s = 30.0;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
}

int count_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int ranks_on_this_host(const RankEnvironment& environment) {
  const char* text = std::getenv("LOCAL_WORLD_SIZE");  // torchrun sets it
  const int count = text ? std::atoi(text) : 0;
  return count > 0 ? count : environment.world_size;
}

}  // namespace

// Under a launcher every wait is longer than the launcher's own: it sees all ranks and names the one that hangs, while
// a collective's timeout ends, and so blames, a rank that only waited for it.
std::chrono::milliseconds Context::timeout() const {
  return milliseconds(scenario.measure.timeout_s + (status::watched() ? launcher_margin_s : 0.0));
}

std::chrono::milliseconds Context::rendezvous_timeout() const {
  if (own_rendezvous_timeout_s) return milliseconds(*own_rendezvous_timeout_s);
  // A short limit on a step is none on loading LibTorch.
  return status::watched() ? milliseconds(std::max(scenario.measure.timeout_s, launcher_start_s) + launcher_margin_s)
                           : timeout();
}

void choose_resources(Context& context) {
  using scenario::BackendChoice, scenario::DeviceChoice;
  const int gpus = static_cast<int>(torch::cuda::device_count());
  const auto wanted = context.scenario.device;
  if (wanted == DeviceChoice::cuda && gpus == 0)
    throw MissingAbility(
        "device: cuda, but no CUDA device is visible (driver, CUDA_VISIBLE_DEVICES?); use device: cpu");
  const bool cuda = wanted == DeviceChoice::cuda || (wanted == DeviceChoice::automatic && gpus > 0);
  const auto backend = context.scenario.backend;
  if (backend == BackendChoice::nccl && !cuda)
    throw MissingAbility("backend: nccl needs CUDA devices, but this run is on the CPU; use backend: gloo");
  context.backend = backend == BackendChoice::nccl || (backend == BackendChoice::automatic && cuda) ? BackendKind::nccl
                                                                                                    : BackendKind::gloo;
  if (cuda) {
    const int needed =
        context.strategy == scenario::Strategy::dp ? context.replicas : context.environment.local_rank + 1;
    if (needed > gpus)
      throw MissingAbility("this run needs " + std::to_string(needed) + " CUDA devices on this host, found " +
                           std::to_string(gpus) + "; lower workers or use device: cpu");
    const int index = context.strategy == scenario::Strategy::dp ? 0 : context.environment.local_rank;
    context.device = torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(index));
  }
  context.cores = count_cores();
  const int sharing =
      context.strategy == scenario::Strategy::dp ? context.replicas : ranks_on_this_host(context.environment);
  context.threads = context.scenario.measure.threads_per_rank
                        ? static_cast<int>(*context.scenario.measure.threads_per_rank)
                        : std::max(1, context.cores / sharing);
  // LibTorch's parallel_apply takes a thread a replica from the process's own, and one after the other without.
  if (cuda && context.strategy == scenario::Strategy::dp) context.threads = std::max(context.threads, context.replicas);
}

}  // namespace ddpprof::worker
