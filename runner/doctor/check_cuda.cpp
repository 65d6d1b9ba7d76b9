// Checks of CUDA versions, CUPTI, NCCL, and other profilers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "runner/doctor/checks.hpp"
#include "tracer/format/cupti_versions.hpp"

namespace ddpprof::doctor {
namespace {

constexpr const char* cuda_area = "CUDA and profilers";

std::optional<trace::CudaVersion> parsed(const std::string& text) {
  trace::CudaVersion version;
  const char* end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, version.major);
  if (error != std::errc() || dot == end || *dot != '.') return std::nullopt;
  if (std::from_chars(dot + 1, end, version.minor).ec != std::errc()) return std::nullopt;
  return version;
}

std::optional<trace::CudaVersion> driver_cuda(const Facts& facts) {
  return facts.nvml.cuda_version ? parsed(*facts.nvml.cuda_version) : std::nullopt;
}

bool has_driver(const Facts& facts) { return facts.driver.version || facts.driver.devices > 0 || facts.nvml.gpus; }

// A driver supports every CUDA version up to its own major version, and none of a later major version.
void versions(const Facts& facts, Checks& checks) {
  const auto driver = driver_cuda(facts);
  const auto torch = parsed(facts.worker.cuda);
  Check check{cuda_area, "CUDA versions", "", Verdict::good, ""};
  check.found = driver              ? "driver up to " + driver->text()
                : has_driver(facts) ? "version of the driver unknown (" + facts.nvml.cuda_version.why + ")"
                                    : "no driver";
  check.found += torch ? ", LibTorch built for " + torch->text() : ", LibTorch built without CUDA";
  const Library& runtime = facts.libraries.cuda_runtime;
  if (runtime.number) check.found += ", runtime " + trace::cuda_of_driver(static_cast<int>(*runtime.number)).text();
  if (!driver || !torch) {
    check.verdict = has_driver(facts) ? Verdict::note : Verdict::good;
  } else if (driver->major < torch->major) {
    check.verdict = Verdict::bad;
    check.advice = fmt::format("LibTorch sees no GPU: install a driver for CUDA {} or later, or a LibTorch for CUDA {}",
                               torch->text(), driver->major);
  }
  checks.push_back(check);
}

void cupti(const Facts& facts, Checks& checks) {
  Check check{cuda_area, "CUPTI", "", Verdict::good, ""};
  const Library& library = facts.libraries.cupti;
  if (library.path.empty()) {
    check.found = facts.libraries.problem.empty()
                      ? "LibTorch has none; the tracer searches beside the CUDA runtime and in the system's folders"
                      : unreadable(facts.libraries.problem);
    check.verdict = Verdict::note;
    if (has_driver(facts))
      check.advice = "without CUPTI GPU activity is not recorded: install the CUPTI of LibTorch's CUDA version";
  } else if (!library.number) {
    check.found = library.path.string() + ": " + unreadable(library.number.why);
    check.verdict = Verdict::note;
  } else {
    const auto number = static_cast<std::uint32_t>(*library.number);
    const auto cuda = trace::cuda_of_cupti(number);
    check.found =
        fmt::format("{}: {} (API {})", library.path.string(), cuda ? "CUDA " + cuda->text() : "very old", number);
    const auto driver = driver_cuda(facts);
    if (number < trace::oldest_cupti) {
      check.verdict = Verdict::bad;
      check.advice = "ddpprof cannot read its records: use the CUPTI of CUDA 11.0 or later";
    } else if (driver && cuda && *cuda > *driver) {
      check.verdict = cuda->major > driver->major ? Verdict::bad : Verdict::note;
      check.advice = fmt::format(
          "it is newer than the driver (CUDA {}) and may not work with it: install a newer "
          "driver, or put the CUPTI of CUDA {} first in LD_LIBRARY_PATH",
          driver->text(), driver->text());
    } else if (driver && cuda) {
      check.found += ", compatible with the driver";
    }
  }
  checks.push_back(check);
}

// Kernels, copies and calls need no privileges since CUDA 10.2 (CUPTI's manual, "Limitations"); hardware counters do.
void permission(const Facts& facts, Checks& checks) {
  if (!has_driver(facts)) return;
  const auto& restricted = facts.driver.profiling_for_administrators;
  Check check{cuda_area, "profiling permission", "", Verdict::good, ""};
  check.found = !restricted   ? unreadable(restricted.why)
                : *restricted ? "hardware counters for administrators only (RmProfilingAdminOnly: 1)"
                              : "hardware counters for everyone (RmProfilingAdminOnly: 0)";
  const auto& administrator = facts.rights.administrator;
  check.found += !administrator   ? ", CAP_SYS_ADMIN: " + unreadable(administrator.why)
                 : *administrator ? ", this process has CAP_SYS_ADMIN"
                                  : ", this process does not have CAP_SYS_ADMIN";
  check.found += "; ddpprof needs neither to record kernels, copies and calls";
  if (restricted && *restricted && administrator && !*administrator)
    check.advice =
        "only for tools that read hardware counters (Nsight Compute): load the nvidia module with "
        "NVreg_RestrictProfilingToAdminUsers=0, or add CAP_SYS_ADMIN to the container";
  checks.push_back(check);
}

void nccl(const Facts& facts, Checks& checks) {
  Check check{cuda_area, "NCCL", "", Verdict::good, ""};
  const Library& library = facts.libraries.nccl;
  if (library.path.empty()) {
    check.found = facts.libraries.problem.empty() ? "LibTorch loads none (NCCL may be linked into LibTorch)"
                                                  : unreadable(facts.libraries.problem);
    check.verdict = has_driver(facts) ? Verdict::note : Verdict::good;
  } else if (!library.number) {
    check.found = library.path.string() + ": " + unreadable(library.number.why);
    check.verdict = Verdict::note;
  } else {
    check.found = fmt::format("{}: version {}", library.path.string(), nccl_version(*library.number));
    if (*library.number < first_nccl_with_profilers) {
      check.found += ", without profiler plugins";
      check.verdict = Verdict::note;
      check.advice = "NCCL reports its own work since version 2.23: use a newer LibTorch or a newer NCCL";
    } else {
      check.found += ", supports profiler plugins";
    }
  }
  checks.push_back(check);
  for (const char* name : {"NCCL_PROFILER_PLUGIN", "NCCL_TUNER_PLUGIN"}) {
    const auto set = facts.environment.find(name);
    if (set == facts.environment.end() || set->second.empty() || set->second.find("ddpprof") != std::string::npos)
      continue;
    checks.push_back({cuda_area, name, set->second + ": not ddpprof's", Verdict::note,
                      std::string_view(name) == "NCCL_TUNER_PLUGIN"
                          ? "it chooses NCCL's algorithms: keep it only if your training uses it too"
                          : "NCCL loads only one profiler: unset it, so that ddpprof can record what NCCL does"});
  }
}

// Libraries that profile the process that loads them, and prefixes of the variables of tools that attach.
constexpr std::array preloaded = {
    "libnvtx",        "libToolsInjection", "libcupti",         "nsys",     "nsight",    "libvtune",
    "libittnotify",   "libprofiler",       "libjemalloc_prof", "libtau",   "libscorep", "libmpiP",
    "librocprofiler", "libdarshan",        "libhpcrun",        "libextrae"};
constexpr std::array attaching = {"NSYS_",  "KINETO_", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                  "QUADD_", "NVPROF_", "TEARDOWN_CUPTI",        "CUPTI_"};

void other_profilers(const Facts& facts, Checks& checks) {
  std::string found, advice;
  const auto add = [&](const std::string& what) { found += (found.empty() ? "" : "; ") + what; };
  bool attached = false;
  for (const auto& [name, value] : facts.environment) {
    const bool of_a_tool = std::any_of(attaching.begin(), attaching.end(),
                                       [&, key = name](const char* beginning) { return key.starts_with(beginning); });
    if (!of_a_tool || value.empty() || value.find("ddpprof-tracer") != std::string::npos) continue;
    add(name + "=" + value);
    attached = true;
  }
  if (const auto preload = facts.environment.find("LD_PRELOAD"); preload != facts.environment.end())
    for (const char* known : preloaded)
      if (preload->second.find(known) != std::string::npos) {
        add("LD_PRELOAD=" + preload->second);
        attached = true;
        break;
      }
  const auto& tracer = facts.rights.tracer;
  const bool traced = tracer && *tracer != 0;
  if (traced) add(fmt::format("process {} traces this one (a debugger, strace)", *tracer));
  Check check{cuda_area, "other profilers", found.empty() ? "none configured" : found, Verdict::good, ""};
  if (!tracer) check.found += "; whether this process is traced: " + unreadable(tracer.why);
  if (attached) {
    check.verdict = Verdict::note;
    check.advice =
        "CUPTI supports one profiler per process: unset these variables for ddpprof; ddpprof replaces the injection "
        "variables with its own";
  }
  if (traced) {
    check.verdict = Verdict::bad;
    check.advice += std::string(check.advice.empty() ? "" : "; ") +
                    "a traced process stops at every system call: measure without it";
  }
  checks.push_back(check);
}

}  // namespace

void check_cuda(const Facts& facts, Checks& checks) {
  versions(facts, checks);
  cupti(facts, checks);
  permission(facts, checks);
  nccl(facts, checks);
  other_profilers(facts, checks);
}

}  // namespace ddpprof::doctor
