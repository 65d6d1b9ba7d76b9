// Environment variables that ranks inherit and that change what is measured.
#include <algorithm>
#include <string_view>

#include "runner/doctor/checks.hpp"

namespace ddpprof::doctor {
namespace {

struct Known {
  std::string_view name;  // ending in '*': a beginning
  Verdict verdict;
  std::string_view advice;
};

// The first that fits speaks.
constexpr Known known[] = {
    {"CUDA_LAUNCH_BLOCKING", Verdict::bad, "every kernel waits for the one before: nothing overlaps; unset it"},
    {"OMP_NUM_THREADS", Verdict::good,
     "ddpprof run sets it for its ranks: measure.threads_per_rank decides. Under torchrun it holds"},
    {"OMP_*", Verdict::note, "it decides where and how threads wait; the same value at every N, or none"},
    {"GOMP_*", Verdict::note, "it decides where and how threads wait; the same value at every N, or none"},
    {"KMP_*", Verdict::note, "it decides where and how threads wait; the same value at every N, or none"},
    {"MKL_NUM_THREADS", Verdict::bad,
     "it overrides measure.threads_per_rank inside MKL: ranks may share cores unseen; unset it"},
    {"MKL_*", Verdict::note, "it changes how matrix products run; keep it only if your training has it too"},
    {"CUDA_VISIBLE_DEVICES", Verdict::note, "ranks see these devices only"},
    {"CUDA_DEVICE_MAX_CONNECTIONS", Verdict::note,
     "1 orders all streams' launches: overlap of compute and communication changes; with "
     "TORCH_NCCL_ENABLE_TIMING=1 it is lost"},
    {"TORCH_NCCL_ENABLE_TIMING", Verdict::note, "it adds events around every collective"},
    {"TORCH_DISTRIBUTED_DEBUG", Verdict::bad, "it checks every collective on all ranks: steps take longer; unset it"},
    {"TORCH_NCCL_BLOCKING_WAIT", Verdict::note, "the host waits in every collective: less overlap"},
    {"NCCL_ALGO", Verdict::note, "NCCL may use these algorithms only: keep it only if your training has it too"},
    {"NCCL_PROTO", Verdict::note, "NCCL may use these protocols only: small and large messages differ by it"},
    {"NCCL_P2P_DISABLE", Verdict::note,
     "1 sends everything between GPUs of a host through its memory: several times slower; unset it unless P2P is "
     "broken"},
    {"NCCL_SHM_DISABLE", Verdict::note, "1 sends it over the network instead of shared memory; unset it"},
    {"NCCL_IB_DISABLE", Verdict::note, "1 leaves InfiniBand and RoCE out: TCP between hosts; unset it to use them"},
    {"NCCL_PROFILER_PLUGIN", Verdict::note,
     "NCCL loads this profiler, and not ddpprof's: unset it for what NCCL tells of itself"},
    {"NCCL_TUNER_PLUGIN", Verdict::note, "it chooses NCCL's algorithms: keep it only if your training has it too"},
    {"NCCL_DEBUG", Verdict::note, "its output costs time from INFO on"},
    {"NCCL_*", Verdict::note, "it changes how NCCL communicates: keep it only if your training has it too"},
    {"LD_PRELOAD", Verdict::note, "these libraries run inside every rank; unset it unless your training has it too"},
    {"TEARDOWN_CUPTI", Verdict::note,
     "1 lets torch.profiler detach CUPTI: what ddpprof records of the GPU ends there; a killed process loses more"},
    {"NSYS_*", Verdict::note, "Nsight Systems is set up here: CUPTI serves one profiler; run without it"},
    {"QUADD_*", Verdict::note, "Nsight Systems is set up here: CUPTI serves one profiler; run without it"},
    {"KINETO_*", Verdict::note,
     "torch.profiler may start by itself (its daemon, its configuration): GPU records then go there; unset it"},
    {"UCX_*", Verdict::note, "it changes how UCX communicates: keep it only if your training has it too"},
    {"FI_*", Verdict::note, "it changes how libfabric communicates: keep it only if your training has it too"},
    {"MALLOC_*", Verdict::note, "it changes the allocator's speed"},
    {"NVTX_INJECTION64_PATH", Verdict::note, "ddpprof run replaces it with its own tracer; another profiler is lost"},
    {"CUDA_INJECTION64_PATH", Verdict::note, "ddpprof run replaces it with its own tracer; another profiler is lost"},
    {"DDPPROF_*", Verdict::note, "it changes where ddpprof finds its parts or how it records"},
    {"GLOO_SOCKET_IFNAME", Verdict::good, "for Python's Gloo; ddpprof's ranks take the interface towards MASTER_ADDR"},
    {"LD_LIBRARY_PATH", Verdict::good, "other libraries of the same name are found there first"},
    {"PYTORCH_CUDA_ALLOC_CONF", Verdict::note, "it changes the allocator's speed and memory"},
};

bool fits(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

}  // namespace

void check_environment(const Facts& facts, Checks& checks) {
  if (facts.environment.empty())
    checks.push_back({"environment", "variables", "none that changes a measurement is set", Verdict::good, ""});
  for (const auto& [name, value] : facts.environment) {
    const auto* found =
        std::find_if(std::begin(known), std::end(known), [&](const Known& one) { return fits(name, one.name); });
    Check check{"environment", name, value.empty() ? "set, empty" : value, Verdict::note,
                "keep it only if your training has it too"};
    if (found != std::end(known)) {
      check.verdict = found->verdict;
      check.advice = found->advice;
    }
    // Off is as good as unset.
    if (value == "0" && (name == "CUDA_LAUNCH_BLOCKING" || name == "TORCH_NCCL_ENABLE_TIMING")) {
      check.verdict = Verdict::good;
      check.advice.clear();
    }
    if ((name == "TORCH_DISTRIBUTED_DEBUG" && value == "OFF") || (name == "TEARDOWN_CUPTI" && value == "0") ||
        (value == "0" && name.starts_with("NCCL_") && name.ends_with("_DISABLE"))) {
      check.verdict = Verdict::good;
      check.advice.clear();
    }
    checks.push_back(check);
  }
}

}  // namespace ddpprof::doctor
