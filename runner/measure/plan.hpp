// What `ddpprof run` is going to measure, in which order: decided before anything starts, printed by --dry-run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/import/ranks/measurement_setup.hpp"
#include "runner/scenario/scenario.hpp"

namespace ddpprof::measure {

using ranks::Configuration;
using ranks::Machine;

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

// The models of this machine's processor and GPUs.
Machine this_machine();

// Repeats are the outer loop, so that a slow minute of the machine falls on every N and not on one of them.
// Throws MachineTooSmall when the scenario wants more devices than this machine has, or more ranks than its memory
// holds: a machine that swaps or kills measures nothing, and may take its owner's other programs with it.
Plan make_plan(const scenario::Scenario& scenario, std::int64_t cores, std::int64_t gpus, std::int64_t memory_bytes);

}  // namespace ddpprof::measure
