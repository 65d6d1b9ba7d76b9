#include "runner/worker/loop/context.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "runner/host/cpu.hpp"
#include "runner/host/host.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

constexpr double launcher_start_s = 120.0, launcher_margin_s = 30.0;

std::chrono::milliseconds to_milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
}

int count_cores() {
  const auto all = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  return static_cast<int>(std::max<std::int64_t>(1, host::usable_cores(host::Host(), all)));
}

}  // namespace

// Under a launcher every timeout here is longer than the launcher's own. The launcher observes all ranks and names the
// rank that hangs. A collective's timeout would end, and so blame, a rank that only waited.
std::chrono::milliseconds Context::timeout() const {
  return to_milliseconds(scenario.measure.timeout_s + (status::watched() ? launcher_margin_s : 0.0));
}

std::chrono::milliseconds Context::rendezvous_timeout() const {
  if (own_rendezvous_timeout_s) return to_milliseconds(*own_rendezvous_timeout_s);
  // A short timeout of a step must not limit the loading of LibTorch.
  return status::watched() ? to_milliseconds(std::max(scenario.measure.timeout_s, launcher_start_s) + launcher_margin_s)
                           : timeout();
}

void choose_resources(Context& context) {
  using scenario::BackendChoice, scenario::DeviceChoice;
  const int gpus = static_cast<int>(torch::cuda::device_count());
  const auto wanted = context.scenario.device;
  if (wanted == DeviceChoice::cuda && gpus == 0)
    throw MissingAbility(
        "device: cuda, but no CUDA device is visible (driver, CUDA_VISIBLE_DEVICES?); use device: cpu");
  const auto backend = context.scenario.backend;
  const bool mpi = backend == BackendChoice::mpi;
  if (mpi && wanted == DeviceChoice::cuda)
    throw MissingAbility("backend: mpi moves the CPU's memory only, but this run has device: cuda; use device: cpu");
  const bool cuda = !mpi && (wanted == DeviceChoice::cuda || (wanted == DeviceChoice::automatic && gpus > 0));
  if (backend == BackendChoice::nccl && !cuda)
    throw MissingAbility("backend: nccl needs CUDA devices, but this run is on the CPU; use backend: gloo");
  const bool nccl = backend == BackendChoice::nccl || (backend == BackendChoice::automatic && cuda);
  context.backend = nccl ? BackendKind::nccl : mpi ? BackendKind::mpi : BackendKind::gloo;
  if (cuda) {
    const bool dp = context.strategy == scenario::Strategy::dp;
    // With Slurm's --gpus-per-task, each task has only its own GPU.
    const int local_rank = gpus == 1 && std::getenv("SLURM_PROCID") ? 0 : context.environment.local_rank;
    const int needed = dp ? context.replicas : local_rank + 1;
    if (needed > gpus)
      throw MissingAbility("this run needs " + std::to_string(needed) + " CUDA devices on this host, found " +
                           std::to_string(gpus) + "; lower workers or use device: cpu");
    const int index = dp ? 0 : local_rank;
    context.device = torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(index));
  }
  context.cores = count_cores();
  share_threads(context, {1, context.cores, "", context.cores});
}

void share_threads(Context& context, const CoreShare& share) {
  const bool dp = context.strategy == scenario::Strategy::dp;
  context.host_cores = share.host_cores;
  context.pool = share.pool;
  context.pool_cores = share.pool_cores;
  context.threads = context.scenario.measure.threads_per_rank
                        ? static_cast<int>(*context.scenario.measure.threads_per_rank)
                        : std::max(1, context.cores / (dp ? context.replicas : share.sharing));
  // LibTorch's parallel_apply uses one of the process's threads per replica. With one thread it runs them in sequence.
  if (dp && context.device.is_cuda()) context.threads = std::max(context.threads, context.replicas);
}

}  // namespace ddpprof::worker
