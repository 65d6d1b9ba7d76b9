// The configurations that `ddpprof run` measures, in their order. The plan is made before any rank starts.
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
  std::string backend;  // for ddp: gloo or nccl
};

// Cores that this process may use: its affinity mask, at most its cgroup's CPU quota rounded up.
std::int64_t available_cores();

// MemAvailable, at most the rest of the cgroup's limit. The largest int64 if neither can be read.
std::int64_t available_memory_bytes();

// Private memory of a worker that trains a few parameters: 209 MiB measured (LibTorch 2.11, CUDA build, on a CPU).
inline constexpr std::int64_t bare_rank_bytes = std::int64_t{209} << 20;

// GPUs that a new process sees: those of the driver, without those that CUDA_VISIBLE_DEVICES hides.
std::int64_t visible_gpus();

// The models of this machine's processor and GPUs.
Machine this_machine();

// Repeats are the outer loop, so that a slow minute of the machine affects every N and not only one. Throws
// MachineTooSmall if the scenario needs more GPUs than are visible, or more memory than is available: a machine that
// swaps or kills processes gives no useful measurement. Throws InvalidRequest for backend mpi.
Plan make_plan(const scenario::Scenario& scenario, std::int64_t cores, std::int64_t gpus, std::int64_t memory_bytes);

}  // namespace ddpprof::measure
