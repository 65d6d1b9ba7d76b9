// Memory, shared memory, disk, and the limits on a process.
#pragma once

#include <cstdint>
#include <string>

#include "runner/host/host.hpp"

namespace ddpprof::host {

struct Memory {
  Reading<std::int64_t> total_bytes;
  Reading<std::int64_t> available_bytes;  // the kernel's estimate without swapping; a cgroup's limit not counted
  Reading<std::int64_t> swap_used_bytes;
  std::optional<std::int64_t> limit_bytes;       // of the cgroup or a parent, the tightest; none: no limit
  std::optional<std::int64_t> limit_free_bytes;  // what is left below that limit, unused page cache included

  // The smaller of both; the largest number when nothing can be read.
  std::int64_t usable_bytes() const;
};
Memory read_memory(const Host& host);

struct Space {
  std::int64_t size_bytes = 0;
  std::int64_t free_bytes = 0;  // to this user
};
Reading<Space> free_space(const Host& host, const std::string& path);

struct Limits {
  std::int64_t open_files = 0;  // -1: no limit, here and below
  std::int64_t locked_bytes = 0;
  std::int64_t core_bytes = 0;
};
Limits read_limits();  // of this process, which its ranks inherit

}  // namespace ddpprof::host
