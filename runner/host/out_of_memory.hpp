// Counts how often the kernel's out-of-memory killer has ended a process, to find the cause of a sudden end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runner/host/host.hpp"

namespace ddpprof::host {

struct OutOfMemoryKills {
  std::optional<std::int64_t> group;    // processes of this process's memory cgroup; empty: unknown
  std::string group_file;               // the file with that counter, for example "memory.events"
  std::optional<std::int64_t> machine;  // all processes, from /proc/vmstat; empty: kernels before 4.13
};

OutOfMemoryKills read_out_of_memory_kills(const Host& host);

// Returns a sentence about what the killer did between two readings; "" if it did nothing.
std::string describe_kills(const OutOfMemoryKills& before, const OutOfMemoryKills& after);

}  // namespace ddpprof::host
