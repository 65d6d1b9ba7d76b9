// Memory, shared memory, disk, and the limits of a process.
#pragma once

#include <cstdint>
#include <string>

#include "runner/host/host.hpp"

namespace ddpprof::host {

struct Memory {
  Reading<std::int64_t> total_bytes;
  Reading<std::int64_t> available_bytes;  // the kernel's estimate without swapping; ignores the cgroup's limit
  Reading<std::int64_t> swap_used_bytes;
  std::optional<std::int64_t> limit_bytes;       // the lowest limit of the cgroup and its parents; empty: no limit
  std::optional<std::int64_t> limit_free_bytes;  // free memory below that limit, including unused page cache

  // The smaller of both; the largest number if none can be read.
  std::int64_t usable_bytes() const;
};
Memory read_memory(const Host& host);

struct Space {
  std::int64_t size_bytes = 0;
  std::int64_t free_bytes = 0;  // for this user
};
Reading<Space> free_space(const Host& host, const std::string& path);

struct Limits {
  std::int64_t open_files = 0;  // -1: no limit; also below
  std::int64_t locked_bytes = 0;
  std::int64_t core_bytes = 0;
};
Limits read_limits();  // of this process; its ranks inherit them

}  // namespace ddpprof::host
