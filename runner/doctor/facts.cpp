#include "runner/doctor/facts.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <thread>

#include "runner/host/within.hpp"
#include "runner/measure/programs.hpp"

namespace ddpprof::doctor {
namespace {

// Complete names, and prefixes of names.
constexpr std::string_view exact[] = {"OMP_NUM_THREADS",
                                      "OMP_PROC_BIND",
                                      "OMP_PLACES",
                                      "OMP_WAIT_POLICY",
                                      "OMP_DYNAMIC",
                                      "GOMP_CPU_AFFINITY",
                                      "GOMP_SPINCOUNT",
                                      "CUDA_VISIBLE_DEVICES",
                                      "CUDA_LAUNCH_BLOCKING",
                                      "CUDA_DEVICE_ORDER",
                                      "CUDA_INJECTION64_PATH",
                                      "NVTX_INJECTION64_PATH",
                                      "LD_PRELOAD",
                                      "LD_LIBRARY_PATH",
                                      "CUBLAS_WORKSPACE_CONFIG",
                                      "CUDA_DEVICE_MAX_CONNECTIONS",
                                      "TEARDOWN_CUPTI"};
constexpr std::string_view prefixes[] = {"MKL_",     "KMP_",         "NCCL_",          "GLOO_",   "TORCH_",
                                         "PYTORCH_", "ATEN_",        "DNNL_",          "ONEDNN_", "MALLOC_",
                                         "DDPPROF_", "NVIDIA_TF32_", "GLIBC_TUNABLES", "NSYS_",   "KINETO_",
                                         "CUPTI_",   "QUADD_",       "NVPROF_",        "UCX_",    "FI_"};

// A driver or a file system may hang, so every look has a time limit.
constexpr auto disk_limit = std::chrono::seconds(3);
constexpr auto library_limit = std::chrono::seconds(10);
constexpr auto driver_limit =
    std::chrono::seconds(30);  // without persistence the driver initialises each device, which takes seconds

template <class T>
void mark_silent(host::Reading<T>& reading, const std::string& why) {
  reading = host::Reading<T>::unknown(why);
}
void mark_silent(host::Nvml& nvml, const std::string& why) {
  mark_silent(nvml.gpus, why + ": the driver hangs");
  mark_silent(nvml.cuda_version, why + ": the driver hangs");
}
void mark_silent(Tracer& tracer, const std::string& why) {
  tracer.problem = "gave " + why;
  tracer.remedy = "check whether the disk with ddpprof hangs";
}

void mark_silent(Libraries& libraries, const std::string& why) { libraries.problem = why; }
void mark_silent(Worker& worker, const std::string& why) {
  worker.problem = "gave " + why;
  worker.remedy = "check whether the disk with ddpprof hangs";
}

// Stores the result of `look` in `found`, or that it did not answer within the limit.
template <class Look, class Found>
void limited(Found& found, std::chrono::milliseconds limit, Look look) {
  if (auto answer = host::within(limit, std::move(look))) {
    found = std::move(*answer);
  } else {
    mark_silent(found, host::no_answer(limit));
  }
}

}  // namespace

std::map<std::string, std::string> relevant_variables(const std::vector<std::string>& environment) {
  std::map<std::string, std::string> found;
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = entry.substr(0, equals);
    const bool named =
        std::any_of(std::begin(exact), std::end(exact), [&](auto known) { return name == known; }) ||
        std::any_of(std::begin(prefixes), std::end(prefixes), [&](auto prefix) { return name.starts_with(prefix); });
    if (named) found[name] = entry.substr(equals + 1);
  }
  return found;
}

Facts recorded_facts(const host::Host& host) {
  Facts facts;
  facts.cpu = host::read_cpu(host);
  facts.quota_cores = host::quota_cores(host);
  facts.usable_cores = host::usable_cores(
      host, facts.cpu.online ? static_cast<std::int64_t>(facts.cpu.online->size())
                             : static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency())));
  facts.frequency = host::read_frequency(host);
  facts.thermal_throttles = host::thermal_throttles(host);
  facts.quota_throttled_ns = host::quota_throttled_ns(host);
  facts.load = host::load_average(host);
  facts.pressure_percent = host::cpu_pressure_percent(host);
  facts.clock_source = host.line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  facts.perf_event_paranoid = host.number("/proc/sys/kernel/perf_event_paranoid");
  facts.window.times = host::Reading<host::CpuTimes>::unknown("activity was not observed");
  facts.memory = host::read_memory(host);
  facts.shared_memory = host::free_space(host, "/dev/shm");
  facts.disk = host::Reading<host::Space>::unknown("the folder was not checked");
  facts.driver = host::read_driver(host);
  facts.rights = host::read_rights(host);
  facts.cuda = host::Reading<bool>::unknown("not checked");
  facts.nvml.gpus = host::Reading<std::vector<host::Gpu>>::unknown("not checked");
  facts.nvml.cuda_version = host::Reading<std::string>::unknown("not checked");
  facts.interfaces = host::read_interfaces(host, false);
  facts.fabric = host::read_fabric(host);
  facts.host_addresses = host::Reading<std::vector<std::string>>::unknown("not checked");
  return facts;
}

Facts look(const LookOptions& options) {
  using Clock = std::chrono::steady_clock;
  const host::Host host;
  // The window comes first: the programs and reads below would show in it.
  const auto begin = Clock::now();
  const auto times = host::read_cpu_times(host);
  const auto processes = host::read_processes(host);
  std::this_thread::sleep_for(options.window);
  const auto times_after = host::read_cpu_times(host);
  const auto processes_after = host::read_processes(host);
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);

  Facts facts = recorded_facts(host);
  facts.window.seconds = std::chrono::duration<double>(elapsed).count();
  facts.window.times = times && times_after ? host::Reading<host::CpuTimes>::of(*times_after - *times)
                                            : host::Reading<host::CpuTimes>::unknown(times.why + times_after.why);
  constexpr double least_cores = 0.05;
  facts.window.busy = host::busy_between(processes, processes_after, elapsed.count(), least_cores, getpid());
  constexpr std::int64_t no_process = 0;  // leaves out no process
  facts.window.visible_cores = 0.0;
  for (const auto& process : host::busy_between(processes, processes_after, elapsed.count(), 0.0, no_process))
    *facts.window.visible_cores += process.cores;
  facts.database_folder = std::filesystem::absolute(options.folder).lexically_normal().string();
  limited(facts.disk, disk_limit, [host, folder = facts.database_folder] { return host::free_space(host, folder); });
  // Skipped if the file system does not answer.
  facts.folder_writable = facts.disk && access(options.folder.c_str(), W_OK | X_OK) == 0;
  facts.limits = host::read_limits();
  // ddpprof's libraries are loaded before the driver's: while the loading of a library hangs, no other can be loaded.
  limited(facts.tracer, library_limit, measure::look_at_tracer);
  limited(facts.cuda, library_limit, [] { return host::cuda_loads(); });
  limited(facts.nvml, driver_limit, [] { return host::read_nvml(); });
  facts.interfaces = host::read_interfaces(host, true);
  facts.host_name = host::host_name();
  facts.host_addresses = host::resolve(facts.host_name, std::chrono::milliseconds(700));
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) variables.emplace_back(*entry);
  facts.environment = relevant_variables(variables);
  // The running worker has its own limit. This limit covers finding and starting it.
  limited(facts.worker, options.worker_limit + library_limit,
          [limit = options.worker_limit] { return measure::look_at_worker(limit); });
  if (facts.worker.problem.empty())
    limited(facts.libraries, 2 * library_limit,
            [worker = facts.worker.path] { return look_at_libraries(worker, library_limit); });
  else
    facts.libraries.problem = "the worker does not start";
  return facts;
}

}  // namespace ddpprof::doctor
