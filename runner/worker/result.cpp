#include "runner/worker/result.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include <torch/version.h>

#include "runner/worker/annotate.hpp"

#ifdef USE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace ddpprof::worker {
namespace {

std::string cuda_version() {
#ifdef USE_CUDA
  return std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
#else
  return "none";
#endif
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

nlohmann::json describe_run(const Context& context, nlohmann::json found, std::int64_t began_ns) {
  found["format"] = 1;
  found["program"] = "ddpprof-worker";
  found["program_version"] = DDPPROF_VERSION;
  found["torch_version"] = TORCH_VERSION;
  found["cuda_version"] = cuda_version();
  found["mode"] = context.mode == Mode::train ? "train" : "bench-comm";
  found["strategy"] = scenario::to_string(context.strategy);
  found["model"] = context.scenario.workload.model.label();
  found["backend"] = context.strategy == scenario::Strategy::dp ? "none"
                     : context.backend == BackendKind::nccl     ? "nccl"
                                                                : "gloo";
  found["device"] = context.device.str();
  found["rank"] = context.environment.rank;
  found["world_size"] = context.environment.world_size;
  found["workers"] = context.workers();
  found["threads"] = context.threads;
  found["cores"] = context.cores;
  found["host"] = host_name();
  found["pid"] = getpid();
  found["peak_rss_bytes"] = peak_resident_bytes();
  found["wall_ns"] = monotonic_ns() - began_ns;
  found["traced"] = annotate::attached();
  return found;
}

void write_result(const std::filesystem::path& path, const nlohmann::json& result) {
  auto partial = path;
  partial += ".partial";
  std::ofstream file(partial);
  file << result.dump() << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write the result file " + partial.string());
  std::filesystem::rename(partial, path);
}

}  // namespace ddpprof::worker
