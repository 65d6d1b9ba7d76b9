#include "runner/host/conditions.hpp"

#include <sys/resource.h>

#include "runner/host/cpu.hpp"

namespace ddpprof::host {
namespace {

std::int64_t nanoseconds(const timeval& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(time.tv_usec) * 1000;
}

}  // namespace

Snapshot take_snapshot(const Host& host) {
  Snapshot now;
  now.frequency_hz = read_frequency_hz(host).value;  // first, because reading other files wakes processors
  now.times = read_cpu_times(host).value;
  now.load = load_average(host).value;
  now.thermal_throttles = thermal_throttles(host).value;
  now.quota_throttled_ns = quota_throttled_ns(host).value;
  return now;
}

Usage own_usage() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return {.cpu_ns = nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime),
          .voluntary_switches = used.ru_nvcsw,
          .involuntary_switches = used.ru_nivcsw,
          .major_faults = used.ru_majflt};
}

Usage operator-(const Usage& later, const Usage& earlier) {
  return {.cpu_ns = later.cpu_ns - earlier.cpu_ns,
          .voluntary_switches = later.voluntary_switches - earlier.voluntary_switches,
          .involuntary_switches = later.involuntary_switches - earlier.involuntary_switches,
          .major_faults = later.major_faults - earlier.major_faults};
}

}  // namespace ddpprof::host
