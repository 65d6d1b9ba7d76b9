#include "runner/launcher/rank_environment.hpp"

#include <cstdlib>

namespace ddpprof::launcher {

std::map<std::string, std::string> tracer_environment(const std::filesystem::path& library,
                                                      const std::filesystem::path& directory) {
  std::map<std::string, std::string> variables = {{"NVTX_INJECTION64_PATH", library.string()},
                                                  {"CUDA_INJECTION64_PATH", library.string()},
                                                  {"DDPPROF_TRACE_DIR", directory.string()}};
  if (!other_nccl_plugin(library)) variables["NCCL_PROFILER_PLUGIN"] = library.string();
  return variables;
}

std::optional<std::string> other_nccl_plugin(const std::filesystem::path& library) {
  const char* set = std::getenv("NCCL_PROFILER_PLUGIN");
  if (set == nullptr || *set == '\0' || library.string() == set) return std::nullopt;
  return set;
}

std::map<std::string, std::string> rank_environment(const RankPlace& place) {
  std::map<std::string, std::string> variables = {
      {"RANK", std::to_string(place.rank)},       {"WORLD_SIZE", std::to_string(place.world_size)},
      {"LOCAL_RANK", std::to_string(place.rank)}, {"LOCAL_WORLD_SIZE", std::to_string(place.world_size)},
      {"MASTER_ADDR", place.master_address},      {"MASTER_PORT", std::to_string(place.master_port)},
  };
  if (place.threads > 0) variables["OMP_NUM_THREADS"] = std::to_string(place.threads);
  if (!place.tracer_library.empty()) variables.merge(tracer_environment(place.tracer_library, place.trace_directory));
  return variables;
}

}  // namespace ddpprof::launcher
