// What was true of the machine and of this process at one moment: two of these frame a measurement.
#pragma once

#include <cstdint>
#include <optional>

#include "runner/host/activity.hpp"
#include "runner/host/host.hpp"

namespace ddpprof::host {

// Unset: not readable on this machine.
struct Snapshot {
  std::optional<CpuTimes> times;
  std::optional<double> frequency_hz;  // of the fastest processor
  std::optional<double> load;          // average of the last minute
  std::optional<std::int64_t> thermal_throttles;
  std::optional<std::int64_t> quota_throttled_ns;
};
Snapshot take_snapshot(const Host& host);

// Of this process and all its threads, since it began (getrusage).
struct Usage {
  std::int64_t cpu_ns = 0;
  std::int64_t voluntary_switches = 0;    // it waited for something
  std::int64_t involuntary_switches = 0;  // its processor was given to another
  std::int64_t major_faults = 0;          // pages that had to come from a disk
};
Usage own_usage();
Usage operator-(const Usage& later, const Usage& earlier);

}  // namespace ddpprof::host
