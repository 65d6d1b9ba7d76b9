#include "cli/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <system_error>
#include <thread>

#include "cli/subcommand.hpp"
#include "runner/host/cpu.hpp"
#include "runner/host/gpu.hpp"
#include "runner/host/memory.hpp"
#include "runner/scenario/data_files.hpp"
#include "runner/scenario_queries/trained.hpp"

namespace ddpprof::cli {
namespace {

std::uintmax_t file_bytes(const scenario::Data& data) {
  try {
    return scenario::find_data_files(data).bytes();
  } catch (const scenario::DataError&) {  // said before anything is measured
    return 0;
  }
}

void check_memory(const Plan& plan, const scenario::Scenario& scenario, std::int64_t memory_bytes) {
  constexpr auto index_bytes = static_cast<std::int64_t>(sizeof(std::int64_t));
  // Every rank draws the permutation of all samples, as PyTorch's DistributedSampler does.
  // Files are kept whole on each.
  const scenario::Data& data = scenario.workload.data;
  const std::int64_t rank_bytes =
      bare_rank_bytes + data.known_samples().value_or(0) * index_bytes + static_cast<std::int64_t>(file_bytes(data));
  std::int64_t most = 0;
  for (const Configuration& configuration : plan.configurations) most = std::max(most, configuration.processes());
  if (most <= memory_bytes / rank_bytes) return;
  throw Failure(
      ExitCode::machine,
      fmt::format("{} ranks need at least {:.1f} GiB of memory and this machine has {:.1f} GiB available", most,
                  static_cast<double>(most * rank_bytes) / (1 << 30), static_cast<double>(memory_bytes) / (1 << 30)),
      fmt::format("at most {} workers", memory_bytes / rank_bytes), "measure fewer and let ddpprof predict the rest");
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
    const std::string list(visible);  // "" hides all; an entry of -1 hides those behind it
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
    throw Failure(ExitCode::machine,
                  fmt::format("{} workers on device cuda need {} GPUs and {} are visible", most, most, gpus),
                  "a GPU a worker", "measure fewer workers, or set device: cpu");
  }
  const bool mpi = scenario.backend == BackendChoice::mpi;
  const auto& strategies = scenario.strategies;
  if (mpi && std::find(strategies.begin(), strategies.end(), scenario::Strategy::ddp) != strategies.end()) {
    throw Failure(ExitCode::usage, "backend mpi needs ranks that mpirun started, and these would be started by ddpprof",
                  "backend auto or gloo",
                  fmt::format("mpirun -np {} ddpprof worker SCENARIO --out FOLDER, then ddpprof import FOLDER --out "
                              "FILE.db (docs/guide/backends.md)",
                              most));
  }
  const bool on_gpu =
      scenario.device == DeviceChoice::cuda ||
      (scenario.device == DeviceChoice::automatic && gpus >= most && !mpi && scenario.backend != BackendChoice::gloo);
  plan.device = on_gpu ? "cuda" : "cpu";
  if (scenario.backend == BackendChoice::nccl && !on_gpu) {
    throw Failure(ExitCode::machine, "backend nccl needs a GPU and this run is on the CPU", "backend auto or gloo",
                  "set backend: auto");
  }
  plan.backend = scenario.backend == BackendChoice::gloo || !on_gpu ? "gloo" : "nccl";
  for (std::int64_t repeat = 0; repeat < scenario.measure.repeats; ++repeat) {
    for (const std::int64_t workers : scenario.workers) {
      for (const scenario::Strategy strategy : scenario.strategies) {
        Configuration configuration;
        configuration.strategy = strategy;
        configuration.workers = workers;
        configuration.repeat = repeat;
        configuration.threads_per_rank =
            scenario.measure.threads_per_rank.value_or(std::max<std::int64_t>(1, cores / workers));
        // LibTorch's parallel_apply takes a thread a replica from the process's own.
        if (on_gpu && strategy == scenario::Strategy::dp)
          configuration.threads_per_rank = std::max(configuration.threads_per_rank, workers);
        const std::int64_t sharing = on_gpu ? configuration.processes() : workers;
        configuration.oversubscription = static_cast<double>(configuration.threads_per_rank * sharing) /
                                         static_cast<double>(std::max<std::int64_t>(1, cores));
        plan.configurations.push_back(configuration);
      }
    }
  }
  check_memory(plan, scenario, memory_bytes);
  return plan;
}

std::string plan_heading(const scenario::Scenario& scenario, const Plan& plan) {
  const auto& measure = scenario.measure;
  const std::string warmup =
      measure.warmup_steps ? std::to_string(*measure.warmup_steps)
                           : fmt::format("as many as it takes (at most {})", scenario::most_automatic_warmup_steps);
  std::string steps = fmt::format("{} warm-up and {}{} measured steps each", warmup,
                                  measure.until_ci_percent ? "at most " : "", measure.steps);
  if (measure.until_ci_percent) {
    steps += fmt::format(", until the median's 95 % interval is within ± {} %", *measure.until_ci_percent);
  }
  if (measure.unwrapped) steps += "; ddp also without its wrapper";
  return fmt::format("{}: {}, batch {} per worker, {} on {} ({} cores)\n{} measurements, {}\n", scenario.name,
                     scenario.workload.model.label(), scenario.workload.batch_per_worker, plan.backend, plan.device,
                     plan.cores, plan.configurations.size(), steps);
}

std::string plan_text(const scenario::Scenario& scenario, const Plan& plan) {
  std::string text = plan_heading(scenario, plan);
  text += fmt::format("{:>3}  {:<8} {:>7} {:>9} {:>12} {:>6}\n", "#", "strategy", "workers", "processes",
                      "threads each", "repeat");
  int index = 0;
  for (const Configuration& configuration : plan.configurations) {
    text += fmt::format(
        "{:>3}  {:<8} {:>7} {:>9} {:>12} {:>6}{}\n", ++index, to_string(configuration.strategy), configuration.workers,
        configuration.processes(), configuration.threads_per_rank, configuration.repeat,
        configuration.oversubscription > 1.0
            ? fmt::format("  ({:.1f} threads a core: workers share cores)", configuration.oversubscription)
            : "");
  }
  std::string workers;
  for (const std::int64_t n : scenario.predict.workers) workers += (workers.empty() ? "" : ", ") + std::to_string(n);
  const scenario::LearningRate& rate = scenario.learning_rate;
  if (rate.apply) {
    text += fmt::format("learning rate as it is trained: {}\n", scenario_queries::rate_plan_text(scenario));
    for (const std::string& doubt : scenario_queries::rate_doubts(scenario)) text += fmt::format("  {}\n", doubt);
  }
  const std::string tuned_at = rate.base_batch ? fmt::format("a global batch of {}", *rate.base_batch)
                                               : fmt::format("{} worker(s)", rate.base_workers);
  text += fmt::format("then: fit, predict {} workers, learning rate from {} at {}\n", workers, rate.base, tuned_at);
  return text;
}

}  // namespace ddpprof::cli
