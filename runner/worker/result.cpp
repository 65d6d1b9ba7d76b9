#include "runner/worker/result.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <vector>

#include <torch/version.h>

#include "runner/host/network.hpp"
#include "runner/scenario/read.hpp"
#include "runner/worker/annotate.hpp"
#include "runner/worker/mpi/library.hpp"
#include "simulator/stats/summary.hpp"

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

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

nlohmann::json describe_program() {
  nlohmann::json backends = {"gloo"};
  if (mpi::is_installed()) backends.push_back("mpi");
#ifdef USE_C10D_NCCL
  backends.push_back("nccl");
#endif
  return {{"program", "ddpprof-worker"},    {"program_version", DDPPROF_VERSION},
          {"torch_version", TORCH_VERSION}, {"cuda_version", cuda_version()},
          {"backends", backends},           {"cuda_devices", static_cast<std::int64_t>(torch::cuda::device_count())}};
}

nlohmann::json describe_run(const Context& context, nlohmann::json found, std::int64_t began_ns) {
  found["format"] = 1;
  found["program"] = "ddpprof-worker";
  found["program_version"] = DDPPROF_VERSION;
  found["torch_version"] = TORCH_VERSION;
  found["cuda_version"] = cuda_version();
  found["mode"] = context.mode == Mode::train ? "train" : "bench-comm";
  found["strategy"] = context.without_ddp ? "none" : scenario::to_string(context.strategy);
  found["run"] = context.run;
  found["model"] = context.scenario.workload.model.label();
  found["backend"] = context.strategy == scenario::Strategy::dp ? "none" : to_string(context.backend);
  found["device"] = context.device.str();
  found["rank"] = context.environment.rank;
  found["world_size"] = context.environment.world_size;
  found["workers"] = context.workers();
  found["threads"] = context.threads;
  found["cores"] = context.cores;
  found["host_cores"] = context.host_cores;
  found["host"] = host::host_name();
  found["pool"] = context.pool;
  found["pool_cores"] = context.pool_cores;
  found["pid"] = getpid();
  found["peak_rss_bytes"] = peak_resident_bytes();
  found["wall_ns"] = monotonic_ns() - began_ns;
  found["traced"] = annotate::attached();
  return found;
}

launcher::Registration describe_rank(const Context& context) {
  launcher::Registration registration;
  registration.version = "ddpprof " DDPPROF_VERSION ", torch " TORCH_VERSION;
  registration.strategy = context.mode == Mode::train ? scenario::to_string(context.strategy) : "bench-comm";
  registration.devices = std::string(context.device.is_cuda() ? "cuda" : "cpu") + " over " + to_string(context.backend);
  scenario::Scenario scenario = context.scenario;
  scenario.output = {};  // output folders may differ between hosts
  scenario.checkpoint.folder.clear();
  registration.scenario = scenario::to_yaml(scenario);
  return registration;
}

std::string closing_line(const Context& context, const nlohmann::json& result) {
  const auto& place = context.environment;
  if (context.mode == Mode::bench_comm)
    return "ddpprof-worker: rank " + std::to_string(place.rank) + " of " + std::to_string(place.world_size) +
           " done: " + std::to_string(result.at("samples").size()) + " all-reduces timed";
  std::vector<double> steps;
  for (const auto& step : result.at("step_ns").at("measured")) steps.push_back(step.get<double>());
  char median[32] = "-";
  if (!steps.empty()) std::snprintf(median, sizeof(median), "%.4g ms", stats::median(steps) * 1e-6);
  return "ddpprof-worker: " +
         (context.without_ddp ? std::string("one process without DDP")
                              : "rank " + std::to_string(place.rank) + " of " + std::to_string(place.world_size)) +
         " done: " + std::to_string(steps.size()) + " measured steps, median " + median;
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
