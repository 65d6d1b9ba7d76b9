// Checks of environment variables that ranks inherit and that change a measurement.
#include <algorithm>
#include <string_view>

#include "runner/doctor/checks.hpp"

namespace ddpprof::doctor {
namespace {

struct Known {
  std::string_view name;  // ending in '*': a prefix
  Verdict verdict;
  std::string_view advice;
};

// The first entry that matches applies.
constexpr Known known[] = {
    {"CUDA_LAUNCH_BLOCKING", Verdict::bad, "every kernel waits for the previous one, so nothing overlaps: unset it"},
    {"OMP_NUM_THREADS", Verdict::good,
     "ddpprof run replaces it by measure.threads_per_rank; under torchrun it applies"},
    {"OMP_*", Verdict::note, "it changes where and how threads wait: use the same value at every N, or unset it"},
    {"GOMP_*", Verdict::note, "it changes where and how threads wait: use the same value at every N, or unset it"},
    {"KMP_*", Verdict::note, "it changes where and how threads wait: use the same value at every N, or unset it"},
    {"MKL_NUM_THREADS", Verdict::bad,
     "it overrides measure.threads_per_rank in MKL, so ranks may share cores: unset it"},
    {"MKL_*", Verdict::note, "it changes how matrix products run; keep it only if your training uses it too"},
    {"CUDA_VISIBLE_DEVICES", Verdict::note, "ranks see only these devices"},
    {"CUDA_DEVICE_MAX_CONNECTIONS", Verdict::note,
     "1 orders the launches of all streams: overlap of compute and communication changes, and is lost "
     "with TORCH_NCCL_ENABLE_TIMING=1"},
    {"TORCH_NCCL_ENABLE_TIMING", Verdict::note, "it adds events around every collective"},
    {"TORCH_DISTRIBUTED_DEBUG", Verdict::bad,
     "every collective is checked on all ranks, so steps take longer: unset it"},
    {"TORCH_NCCL_BLOCKING_WAIT", Verdict::note, "the host waits in every collective, which reduces overlap"},
    {"NCCL_ALGO", Verdict::note, "NCCL uses only these algorithms: keep it only if your training uses it too"},
    {"NCCL_PROTO", Verdict::note, "NCCL uses only these protocols, which are not the fastest at every message size"},
    {"NCCL_P2P_DISABLE", Verdict::note,
     "1 sends data between GPUs of a host through its memory, several times slower: unset it unless P2P is "
     "broken"},
    {"NCCL_SHM_DISABLE", Verdict::note, "1 replaces shared memory by the network: unset it"},
    {"NCCL_IB_DISABLE", Verdict::note, "1 disables InfiniBand and RoCE, so hosts use TCP: unset it to use them"},
    {"NCCL_PROFILER_PLUGIN", Verdict::note,
     "NCCL loads this profiler instead of ddpprof's: unset it, so that ddpprof can record what NCCL does"},
    {"NCCL_TUNER_PLUGIN", Verdict::note, "it chooses NCCL's algorithms: keep it only if your training uses it too"},
    {"NCCL_DEBUG", Verdict::note, "the output takes time at level INFO and above"},
    {"NCCL_*", Verdict::note, "it changes how NCCL communicates: keep it only if your training uses it too"},
    {"LD_PRELOAD", Verdict::note, "these libraries run in every rank: unset it unless your training uses it too"},
    {"TEARDOWN_CUPTI", Verdict::note,
     "1 lets torch.profiler detach CUPTI: ddpprof's GPU records end there, and a killed process loses more of them"},
    {"NSYS_*", Verdict::note, "Nsight Systems is configured here, and CUPTI supports one profiler: run without it"},
    {"QUADD_*", Verdict::note, "Nsight Systems is configured here, and CUPTI supports one profiler: run without it"},
    {"KINETO_*", Verdict::note, "torch.profiler may start by itself and then receives the GPU records: unset it"},
    {"UCX_*", Verdict::note, "it changes how UCX communicates: keep it only if your training uses it too"},
    {"FI_*", Verdict::note, "it changes how libfabric communicates: keep it only if your training uses it too"},
    {"MALLOC_*", Verdict::note, "it changes the allocator's speed"},
    {"NVTX_INJECTION64_PATH", Verdict::note,
     "ddpprof run replaces it with its own tracer; another profiler does not run"},
    {"CUDA_INJECTION64_PATH", Verdict::note,
     "ddpprof run replaces it with its own tracer; another profiler does not run"},
    {"DDPPROF_*", Verdict::note, "it changes where ddpprof finds its programs, or how it records"},
    {"GLOO_SOCKET_IFNAME", Verdict::good, "for Python's Gloo; ddpprof's ranks use the interface towards MASTER_ADDR"},
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
                "keep it only if your training uses it too"};
    if (found != std::end(known)) {
      check.verdict = found->verdict;
      check.advice = found->advice;
    }
    // These values are the defaults.
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
