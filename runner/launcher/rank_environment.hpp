// The environment variables of a rank: torchrun's, and those that load the tracer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace ddpprof::launcher {

struct RankPlace {
  int rank = 0;
  int world_size = 1;
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 0;
  int threads = 1;                             // OMP_NUM_THREADS; 0: do not set it
  std::filesystem::path tracer_library = {};   // empty: no tracing
  std::filesystem::path trace_directory = {};  // where the tracer writes its shards
};

// Returns the variables with which a process loads the tracer: NVTX_INJECTION64_PATH, CUDA_INJECTION64_PATH,
// DDPPROF_TRACE_DIR, and NCCL_PROFILER_PLUGIN unless this process's environment names another plugin. NCCL loads only
// one.
std::map<std::string, std::string> tracer_environment(const std::filesystem::path& library,
                                                      const std::filesystem::path& directory);
// Returns the other plugin that NCCL_PROFILER_PLUGIN names ("none" included), or nullopt. With another plugin, NCCL's
// choices are not recorded.
std::optional<std::string> other_nccl_plugin(const std::filesystem::path& library);

// Returns RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT as torchrun sets them on one
// host, OMP_NUM_THREADS, and, if there is a tracer, the variables of tracer_environment.
std::map<std::string, std::string> rank_environment(const RankPlace&);

}  // namespace ddpprof::launcher
