// How often the kernel's out-of-memory killer has ended a process, so that a sudden death can be told apart from a
// kill.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runner/host/host.hpp"

namespace ddpprof::host {

struct OutOfMemoryKills {
  std::optional<std::int64_t> group;    // of processes of this one's memory cgroup; empty: it does not say
  std::string group_file;               // where that is counted, e.g. "memory.events"
  std::optional<std::int64_t> machine;  // of any process, /proc/vmstat; empty: kernels before 4.13
};

OutOfMemoryKills read_out_of_memory_kills(const Host& host);

// What the killer did between two readings, as a sentence; "" when it did nothing that was seen.
std::string describe_kills(const OutOfMemoryKills& before, const OutOfMemoryKills& after);

}  // namespace ddpprof::host
