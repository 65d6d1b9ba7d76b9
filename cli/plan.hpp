// What `ddpprof run` is going to measure, in which order: decided before anything starts, printed by --dry-run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/scenario/scenario.hpp"

namespace ddpprof::cli {

struct Configuration {
  scenario::Strategy strategy = scenario::Strategy::ddp;
  std::int64_t workers = 1;  // ranks of DDP, replicas of DataParallel
  std::int64_t repeat = 0;
  std::int64_t threads_per_rank = 1;
  double oversubscription = 1.0;  // compute threads of all workers / cores

  std::int64_t processes() const { return strategy == scenario::Strategy::dp ? 1 : workers; }
};

struct Plan {
  std::vector<Configuration> configurations;
  std::int64_t cores = 1;
  std::string device;   // cpu or cuda
  std::string backend;  // of ddp: gloo or nccl
};

// Cores this process may use: its affinity mask, and no more than its cgroup's CPU quota rounded up.
std::int64_t available_cores();

// MemAvailable, and no more than what a cgroup's limit leaves; the largest number when neither can be read.
std::int64_t available_memory_bytes();

// Private memory of a worker that trains a few parameters: 209 MiB measured (LibTorch 2.11, CUDA build, on a CPU).
inline constexpr std::int64_t bare_rank_bytes = std::int64_t{209} << 20;

// GPUs that a process started now would see: the driver's, less what CUDA_VISIBLE_DEVICES hides.
std::int64_t visible_gpus();

// What a measurement is of beside its program: another model is another measurement. "": the kernel does not name it.
struct Machine {
  std::string processor, gpu;  // models; of GPUs each once
};
Machine this_machine();

// Repeats are the outer loop, so that a slow minute of the machine falls on every N and not on one of them.
// Throws Failure (machine) when the scenario wants more devices than this machine has, or more ranks than its memory
// holds: a machine that swaps or kills measures nothing, and may take its owner's other programs with it.
Plan make_plan(const scenario::Scenario& scenario, std::int64_t cores, std::int64_t gpus, std::int64_t memory_bytes);

// Two lines: what is trained on what, and how often. plan_text adds a line for each configuration.
std::string plan_heading(const scenario::Scenario& scenario, const Plan& plan);
std::string plan_text(const scenario::Scenario& scenario, const Plan& plan);

}  // namespace ddpprof::cli
