// abilities(): what this machine can measure, and the reason for what it cannot.
#include <fmt/format.h>

#include <algorithm>

#include "runner/doctor/checks.hpp"
#include "runner/measure/plan.hpp"

namespace ddpprof::doctor {
namespace {

bool has_backend(const Worker& worker, const std::string& name) {
  return std::find(worker.backends.begin(), worker.backends.end(), name) != worker.backends.end();
}

// Returns why no training can run; "" if one can.
std::string hindrance(const Facts& facts) {
  if (!facts.worker.problem.empty()) return "ddpprof-worker " + facts.worker.problem;
  if (facts.memory.usable_bytes() < measure::bare_rank_bytes)
    return fmt::format("{} of memory is available and a rank needs {}", gibibytes(facts.memory.usable_bytes()),
                       gibibytes(measure::bare_rank_bytes));
  if (!facts.folder_writable) return "databases cannot be written to " + facts.database_folder;
  return "";
}

struct Hindrance {
  std::string why, advice;  // both "" if a GPU can be used
};

Hindrance gpu_hindrance(const Facts& facts) {
  if (const std::string why = hindrance(facts); !why.empty()) return {why, ""};
  if (facts.driver.devices == 0 && !facts.driver.version)
    return {"no GPU: no NVIDIA driver is loaded",
            "measure on the CPU, or use a machine with a GPU and load its driver"};
  if (!facts.cuda)
    return {"libcuda cannot be loaded: " + facts.cuda.why,
            "install the driver's user libraries, or start the container with --gpus all"};
  if (facts.worker.cuda == "none")
    return {"this worker was built without CUDA", "build it against the CUDA wheel of LibTorch (scripts/quickstart)"};
  if (facts.worker.cuda_devices == 0)
    return {"LibTorch sees no GPU" + (facts.worker.warning.empty() ? "" : ": " + facts.worker.warning),
            "check CUDA_VISIBLE_DEVICES, and that the driver supports the CUDA version of LibTorch"};
  return {};
}

// "1 rank", "2 ranks"
std::string counted(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Ability cpu_ability(const Facts& facts, const std::string& what, const char* unit, bool processes) {
  Ability ability{what, false, hindrance(facts), facts.worker.remedy};
  if (!ability.detail.empty()) return ability;
  ability.can = true;
  ability.detail = fmt::format("up to {} with one core each", counted(facts.usable_cores, unit));
  const std::int64_t fit = facts.memory.usable_bytes() / measure::bare_rank_bytes;
  if (processes)
    ability.detail += fmt::format("; memory is sufficient for about {} of a small model",
                                  counted(std::min<std::int64_t>(fit, 1024), "rank"));
  ability.detail += "; more of them share cores, which the report shows";
  return ability;
}

}  // namespace

bool can_measure(const Facts& facts) { return hindrance(facts).empty(); }

std::vector<Ability> abilities(const Facts& facts) {
  std::vector<Ability> all;
  Ability gloo = cpu_ability(facts, "DDP over Gloo on the CPU", "rank", true);
  if (gloo.can && !has_backend(facts.worker, "gloo")) {
    gloo.can = false;
    gloo.detail = "this worker was built without Gloo";
  }
  all.push_back(gloo);
  Ability mpi = cpu_ability(facts, "DDP over MPI on the CPU", "rank", true);
  if (mpi.can && !has_backend(facts.worker, "mpi")) {
    mpi.can = false;
    mpi.detail = "this worker was built without MPI";
    mpi.advice = "build it with Open MPI's headers (Debian: libopenmpi-dev), or measure with backend: gloo";
  }
  if (mpi.can) mpi.detail += "; mpirun starts them";
  all.push_back(mpi);
  all.push_back(cpu_ability(facts, "DataParallel on the CPU", "replica", false));

  const auto [no_gpu, no_gpu_advice] = gpu_hindrance(facts);
  Ability nccl{"DDP over NCCL on GPUs", no_gpu.empty(), no_gpu, ""};
  if (nccl.can && !has_backend(facts.worker, "nccl")) {
    nccl.can = false;
    nccl.detail = "this worker was built without NCCL";
    nccl.advice = "build it against a LibTorch with NCCL, or measure with backend: gloo";
  }
  if (nccl.can) nccl.detail = fmt::format("up to {} with one GPU each", counted(facts.worker.cuda_devices, "rank"));
  if (!no_gpu.empty()) nccl.advice = no_gpu_advice;
  all.push_back(nccl);
  Ability dp{"DataParallel on GPUs", no_gpu.empty() && facts.worker.cuda_devices > 1, no_gpu, ""};
  if (dp.can) dp.detail = fmt::format("up to {} replicas", facts.worker.cuda_devices);
  if (!dp.can && no_gpu.empty()) dp.detail = "only one GPU: DataParallel needs two";
  all.push_back(dp);

  Ability trace{"phases, collectives, overlap (tracing)", facts.tracer.problem.empty() && can_measure(facts), "", ""};
  if (!trace.can) {
    trace.detail = facts.tracer.problem.empty() ? hindrance(facts) : "the tracer " + facts.tracer.problem;
    trace.advice = facts.tracer.problem.empty() ? "" : "to measure step times only, set measure.trace: false";
  }
  all.push_back(trace);

  Ability kernels{"GPU kernels and copies (CUPTI)", trace.can && no_gpu.empty(), no_gpu.empty() ? "" : no_gpu, ""};
  if (kernels.can && facts.libraries.cupti.path.empty() && facts.libraries.problem.empty())
    kernels.detail = "only if the tracer finds a CUPTI: LibTorch has none";
  all.push_back(kernels);

  // Does not need ddpprof-worker.
  Ability record{"a job of your own (ddpprof record)", facts.tracer.problem.empty() && facts.folder_writable, "", ""};
  if (record.can)
    record.detail = std::string("Python trainings with torch.profiler; of any program NVTX ranges") +
                    (facts.driver.version ? ", GPU kernels and copies, NCCL's collectives" : "");
  else if (!facts.tracer.problem.empty())
    record.detail = "the tracer " + facts.tracer.problem, record.advice = facts.tracer.remedy;
  else
    record.detail = "databases cannot be written to " + facts.database_folder;
  all.push_back(record);

  const auto reachable = std::count_if(facts.interfaces.begin(), facts.interfaces.end(), [](const auto& one) {
    return !one.loopback && one.state != "down" && !one.addresses.empty();
  });
  Ability hosts{"several hosts", reachable > 0 && can_measure(facts), "", ""};
  const std::string with_address = counted(reachable, "interface") + " with an address";
  hosts.detail = hosts.can            ? with_address + "; run ddpprof doctor on the other hosts too"
                 : can_measure(facts) ? "only the loopback interface has an address"
                                      : hindrance(facts);
  all.push_back(hosts);
  return all;
}

}  // namespace ddpprof::doctor
