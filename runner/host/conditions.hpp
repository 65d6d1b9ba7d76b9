// The state of the machine and of this process at one moment. A measurement has one before and one after it.
#pragma once

#include <cstdint>
#include <optional>

#include "runner/host/activity.hpp"
#include "runner/host/host.hpp"

namespace ddpprof::host {

// An empty value cannot be read on this machine.
struct Snapshot {
  std::optional<CpuTimes> times;
  std::optional<double> frequency_hz;  // of the fastest processor
  std::optional<double> load;          // average of the last minute
  std::optional<std::int64_t> thermal_throttles;
  std::optional<std::int64_t> quota_throttled_ns;
};
Snapshot take_snapshot(const Host& host);

// Counters of this process with all its threads, since its start (getrusage).
struct Usage {
  std::int64_t cpu_ns = 0;
  std::int64_t voluntary_switches = 0;    // the thread waited
  std::int64_t involuntary_switches = 0;  // the processor was given to another thread
  std::int64_t major_faults = 0;          // pages that were read from disk
};
Usage own_usage();
Usage operator-(const Usage& later, const Usage& earlier);

}  // namespace ddpprof::host
