#include "runner/measure/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <system_error>
#include <thread>

#include "runner/host/cpu.hpp"
#include "runner/host/gpu.hpp"
#include "runner/host/memory.hpp"
#include "runner/measure/error.hpp"
#include "runner/scenario/data_files.hpp"

namespace ddpprof::measure {
namespace {

std::uintmax_t file_bytes(const scenario::Data& data) {
  try {
    return scenario::find_data_files(data).bytes();
  } catch (const scenario::DataError&) {  // reported before anything is measured
    return 0;
  }
}

void check_memory(const Plan& plan, const scenario::Scenario& scenario, std::int64_t memory_bytes) {
  constexpr auto index_bytes = static_cast<std::int64_t>(sizeof(std::int64_t));
  // Every rank draws the permutation of all samples, as PyTorch's DistributedSampler does.
  // Every rank keeps all data files in memory.
  const scenario::Data& data = scenario.workload.data;
  const std::int64_t rank_bytes =
      bare_rank_bytes + data.known_samples().value_or(0) * index_bytes + static_cast<std::int64_t>(file_bytes(data));
  std::int64_t most = 0;
  for (const Configuration& configuration : plan.configurations) most = std::max(most, configuration.processes());
  if (most <= memory_bytes / rank_bytes) return;
  throw MachineTooSmall(
      fmt::format("N = {} needs at least {:.1f} GiB of memory, and this machine has {:.1f} GiB available", most,
                  static_cast<double>(most * rank_bytes) / (1 << 30), static_cast<double>(memory_bytes) / (1 << 30)),
      fmt::format("at most N = {}", memory_bytes / rank_bytes), "measure fewer workers; ddpprof predicts more");
}

}  // namespace

std::int64_t available_cores() {
  return host::usable_cores(host::Host(), std::max(1u, std::thread::hardware_concurrency()));
}

std::int64_t available_memory_bytes() { return host::read_memory(host::Host()).usable_bytes(); }

std::int64_t visible_gpus() {
  std::int64_t gpus = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    gpus += entry.is_directory() ? 1 : 0;
  }
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    const std::string list(visible);  // "" hides all GPUs; an entry of -1 hides all entries after it
    std::int64_t named = 0;
    for (std::size_t at = 0; !list.empty() && at <= list.size();) {
      const std::size_t comma = std::min(list.find(',', at), list.size());
      if (list.compare(at, comma - at, "-1") == 0) break;
      ++named;
      at = comma + 1;
    }
    gpus = std::min(gpus, named);
  }
  return gpus;
}

Machine this_machine() {
  const host::Host here;
  return {host::read_cpu(here).model.value.value_or(""), host::read_driver(here).models.value.value_or("")};
}

Plan make_plan(const scenario::Scenario& scenario, std::int64_t cores, std::int64_t gpus, std::int64_t memory_bytes) {
  using scenario::BackendChoice;
  using scenario::DeviceChoice;
  Plan plan;
  plan.cores = cores;
  const std::int64_t most = *std::max_element(scenario.workers.begin(), scenario.workers.end());
  if (scenario.device == DeviceChoice::cuda && gpus < most) {
    throw MachineTooSmall(fmt::format("N = {} on device cuda, and the number of visible GPUs is {}", most, gpus),
                          "one GPU per worker", "measure fewer workers, or set device: cpu");
  }
  const bool mpi = scenario.backend == BackendChoice::mpi;
  const auto& strategies = scenario.strategies;
  if (mpi && std::find(strategies.begin(), strategies.end(), scenario::Strategy::ddp) != strategies.end()) {
    throw InvalidRequest(
        "backend mpi needs ranks that mpirun starts; ddpprof run starts the ranks itself", "backend auto or gloo",
        fmt::format("mpirun -np {} ddpprof worker SCENARIO --out FOLDER, then ddpprof import FOLDER --out "
                    "FILE.db (docs/guide/backends.md)",
                    most));
  }
  const bool on_gpu =
      scenario.device == DeviceChoice::cuda ||
      (scenario.device == DeviceChoice::automatic && gpus >= most && !mpi && scenario.backend != BackendChoice::gloo);
  plan.device = on_gpu ? "cuda" : "cpu";
  if (scenario.backend == BackendChoice::nccl && !on_gpu) {
    throw MachineTooSmall("backend nccl needs a GPU, and this run uses the CPU", "backend auto or gloo",
                          "set backend: auto");
  }
  plan.backend = scenario.backend == BackendChoice::gloo || !on_gpu ? "gloo" : "nccl";
  // Fits use the workload that was measured first if several were measured at the same N.
  std::vector<std::int64_t> batches = scenario.measure.batches;
  std::ranges::stable_partition(batches,
                                [&](std::int64_t batch) { return batch == scenario.workload.batch_per_worker; });
  if (batches.empty()) batches = {0};
  for (std::int64_t repeat = 0; repeat < scenario.measure.repeats; ++repeat) {
    for (const std::int64_t workers : scenario.workers) {
      for (const scenario::Strategy strategy : scenario.strategies) {
        Configuration configuration;
        configuration.strategy = strategy;
        configuration.workers = workers;
        configuration.repeat = repeat;
        configuration.threads_per_rank =
            scenario.measure.threads_per_rank.value_or(std::max<std::int64_t>(1, cores / workers));
        // LibTorch's parallel_apply uses one thread of the process per replica.
        if (on_gpu && strategy == scenario::Strategy::dp)
          configuration.threads_per_rank = std::max(configuration.threads_per_rank, workers);
        const std::int64_t sharing = on_gpu ? configuration.processes() : workers;
        configuration.oversubscription = static_cast<double>(configuration.threads_per_rank * sharing) /
                                         static_cast<double>(std::max<std::int64_t>(1, cores));
        for (const std::int64_t batch : batches) {
          configuration.batch_per_worker = batch;
          plan.configurations.push_back(configuration);
        }
      }
    }
  }
  check_memory(plan, scenario, memory_bytes);
  return plan;
}

}  // namespace ddpprof::measure
