// What can be measured here, and what cannot for which reason.
#include <fmt/format.h>

#include <algorithm>

#include "runner/doctor/checks.hpp"
#include "runner/measure/plan.hpp"

namespace ddpprof::doctor {
namespace {

bool has_backend(const Worker& worker, const std::string& name) {
  return std::find(worker.backends.begin(), worker.backends.end(), name) != worker.backends.end();
}

// Why nothing can be trained at all; "" when it can.
std::string hindrance(const Facts& facts) {
  if (!facts.worker.problem.empty()) return "ddpprof-worker " + facts.worker.problem;
  if (facts.memory.usable_bytes() < bare_rank_bytes)
    return fmt::format("{} of memory are left and a rank takes {}", gibibytes(facts.memory.usable_bytes()),
                       gibibytes(bare_rank_bytes));
  if (!facts.folder_writable) return "no database can be written to " + facts.database_folder;
  return "";
}

struct Hindrance {
  std::string why, advice;  // "" when there is none
};

Hindrance gpu_hindrance(const Facts& facts) {
  if (const std::string why = hindrance(facts); !why.empty()) return {why, ""};
  if (facts.driver.devices == 0 && !facts.driver.version)
    return {"no GPU: no NVIDIA driver is loaded",
            "measure on the CPU what does not depend on it, or use a GPU machine (and load its driver)"};
  if (!facts.cuda)
    return {"libcuda cannot be loaded: " + facts.cuda.why,
            "install the driver's user libraries, or start the container with --gpus all"};
  if (facts.worker.cuda == "none")
    return {"this worker was built without CUDA", "build it against the CUDA wheel of LibTorch (scripts/quickstart)"};
  if (facts.worker.cuda_devices == 0)
    return {"LibTorch sees no GPU" + (facts.worker.warning.empty() ? "" : ": " + facts.worker.warning),
            "look at CUDA_VISIBLE_DEVICES, and whether the driver is as new as the CUDA of LibTorch"};
  return {};
}

Ability cpu_ability(const Facts& facts, const std::string& what, const char* unit, bool processes) {
  Ability ability{what, false, hindrance(facts), facts.worker.remedy};
  if (!ability.detail.empty()) return ability;
  ability.can = true;
  ability.detail = fmt::format("up to {} {} with a core each", facts.usable_cores, unit);
  const std::int64_t fit = facts.memory.usable_bytes() / bare_rank_bytes;
  if (processes)
    ability.detail += fmt::format("; memory holds about {} of a small model", std::min<std::int64_t>(fit, 1024));
  ability.detail += "; beyond the cores they share them, and the report says so";
  return ability;
}

}  // namespace

bool can_measure(const Facts& facts) { return hindrance(facts).empty(); }

std::vector<Ability> abilities(const Facts& facts) {
  std::vector<Ability> all;
  Ability gloo = cpu_ability(facts, "DDP over Gloo on the CPU", "ranks", true);
  if (gloo.can && !has_backend(facts.worker, "gloo")) {
    gloo.can = false;
    gloo.detail = "this worker was built without Gloo";
  }
  all.push_back(gloo);
  Ability mpi = cpu_ability(facts, "DDP over MPI on the CPU", "ranks", true);
  if (mpi.can && !has_backend(facts.worker, "mpi")) {
    mpi.can = false;
    mpi.detail = "this worker was built without MPI";
    mpi.advice = "build it where Open MPI's headers are (Debian: libopenmpi-dev), or measure with backend: gloo";
  }
  if (mpi.can) mpi.detail += "; mpirun starts them";
  all.push_back(mpi);
  all.push_back(cpu_ability(facts, "DataParallel on the CPU", "replicas", false));

  const auto [no_gpu, no_gpu_advice] = gpu_hindrance(facts);
  Ability nccl{"DDP over NCCL on GPUs", no_gpu.empty(), no_gpu, ""};
  if (nccl.can && !has_backend(facts.worker, "nccl")) {
    nccl.can = false;
    nccl.detail = "this worker was built without NCCL";
    nccl.advice = "build it against a LibTorch with NCCL, or measure with backend: gloo";
  }
  if (nccl.can) nccl.detail = fmt::format("up to {} ranks with a GPU each", facts.worker.cuda_devices);
  if (!no_gpu.empty()) nccl.advice = no_gpu_advice;
  all.push_back(nccl);
  Ability dp{"DataParallel on GPUs", no_gpu.empty() && facts.worker.cuda_devices > 1, no_gpu, ""};
  if (dp.can) dp.detail = fmt::format("up to {} replicas", facts.worker.cuda_devices);
  if (!dp.can && no_gpu.empty()) dp.detail = "one GPU only: DataParallel starts at two";
  all.push_back(dp);

  Ability trace{"phases, collectives, overlap (tracing)", facts.tracer.problem.empty() && can_measure(facts), "", ""};
  if (!trace.can) {
    trace.detail = facts.tracer.problem.empty() ? hindrance(facts) : "the tracer " + facts.tracer.problem;
    trace.advice = facts.tracer.problem.empty() ? "" : "step times alone: measure.trace: false";
  }
  all.push_back(trace);

  Ability kernels{"GPU kernels and copies (CUPTI)", trace.can && no_gpu.empty(), no_gpu.empty() ? "" : no_gpu, ""};
  if (kernels.can && facts.libraries.cupti.path.empty() && facts.libraries.problem.empty())
    kernels.detail = "if the tracer finds a CUPTI: LibTorch brings none";
  all.push_back(kernels);

  // Needs no worker of ours.
  Ability record{"a job of your own (ddpprof record)", facts.tracer.problem.empty() && facts.folder_writable, "", ""};
  if (record.can)
    record.detail = facts.driver.version ? "NVTX ranges, GPU kernels and copies, NCCL's collectives, of Python or not"
                                         : "NVTX ranges, of Python or not";
  else if (!facts.tracer.problem.empty())
    record.detail = "the tracer " + facts.tracer.problem, record.advice = facts.tracer.remedy;
  else
    record.detail = "no database can be written to " + facts.database_folder;
  all.push_back(record);

  const auto reachable = std::count_if(facts.interfaces.begin(), facts.interfaces.end(), [](const auto& one) {
    return !one.loopback && one.state != "down" && !one.addresses.empty();
  });
  Ability hosts{"several hosts", reachable > 0 && can_measure(facts), "", ""};
  hosts.detail = hosts.can ? fmt::format(
                                 "{} interface{} with an address; whether the others reach it, only "
                                 "they can tell",
                                 reachable, reachable == 1 ? "" : "s")
                 : can_measure(facts) ? "no interface but loopback has an address"
                                      : hindrance(facts);
  all.push_back(hosts);
  return all;
}

}  // namespace ddpprof::doctor
