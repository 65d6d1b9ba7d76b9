#include "runner/host/memory.hpp"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <sstream>

namespace ddpprof::host {
namespace {

Reading<std::int64_t> kib_field(const Reading<std::string>& text, const std::string& name) {
  if (!text) return Reading<std::int64_t>::unknown(text.why);
  const auto found = field(*text, name);
  const auto kib = found ? leading_number(*found) : std::nullopt;
  if (!kib) return Reading<std::int64_t>::unknown("/proc/meminfo has no " + name);
  return Reading<std::int64_t>::of(*kib * 1024);
}

// Page cache that the kernel frees before it kills a process: files that were not used recently.
std::int64_t reclaimable_bytes(const Host& host, const CgroupFolder& folder) {
  std::istringstream lines(host.text(folder.path + "/memory.stat").value.value_or(""));
  const std::string wanted = folder.unified ? "inactive_file" : "total_inactive_file";
  std::string name;
  std::int64_t value = 0;
  while (lines >> name >> value) {
    if (name == wanted) return value;
  }
  return 0;
}

std::int64_t limit_of(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return -1;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

std::int64_t Memory::usable_bytes() const {
  const std::int64_t available = available_bytes.value.value_or(std::numeric_limits<std::int64_t>::max());
  return limit_free_bytes ? std::min(available, *limit_free_bytes) : available;
}

Memory read_memory(const Host& host) {
  Memory memory;
  const Reading<std::string> text = host.text("/proc/meminfo");
  memory.total_bytes = kib_field(text, "MemTotal");
  memory.available_bytes = kib_field(text, "MemAvailable");
  const Reading<std::int64_t> swap = kib_field(text, "SwapTotal"), swap_free = kib_field(text, "SwapFree");
  memory.swap_used_bytes = swap && swap_free ? Reading<std::int64_t>::of(*swap - *swap_free)
                                             : Reading<std::int64_t>::unknown(swap ? swap_free.why : swap.why);
  for (const CgroupFolder& folder : cgroup_folders(host, "memory")) {
    const char* limit_file = folder.unified ? "/memory.max" : "/memory.limit_in_bytes";
    const char* used_file = folder.unified ? "/memory.current" : "/memory.usage_in_bytes";
    const Reading<std::int64_t> limit = host.number(folder.path + limit_file);  // "max" is not a number: no limit
    // v1 writes "no limit" as the largest multiple of the page size.
    if (!limit || *limit <= 0 || *limit > std::numeric_limits<std::int64_t>::max() / 2) continue;
    if (memory.total_bytes && *limit >= *memory.total_bytes) continue;
    if (!memory.limit_bytes || *limit < *memory.limit_bytes) memory.limit_bytes = *limit;
    const Reading<std::int64_t> used = host.number(folder.path + used_file);
    if (!used) continue;
    const std::int64_t left = std::max<std::int64_t>(0, *limit - *used + reclaimable_bytes(host, folder));
    memory.limit_free_bytes = std::min(left, memory.limit_free_bytes.value_or(left));
  }
  return memory;
}

Reading<Space> free_space(const Host& host, const std::string& path) {
  struct statvfs space {};
  if (statvfs(host.at(path).c_str(), &space) != 0) return Reading<Space>::unknown(path + ": " + std::strerror(errno));
  const auto unit = static_cast<std::int64_t>(space.f_frsize);
  return Reading<Space>::of(
      {static_cast<std::int64_t>(space.f_blocks) * unit, static_cast<std::int64_t>(space.f_bavail) * unit});
}

Limits read_limits() {
  return {.open_files = limit_of(RLIMIT_NOFILE),
          .locked_bytes = limit_of(RLIMIT_MEMLOCK),
          .core_bytes = limit_of(RLIMIT_CORE)};
}

}  // namespace ddpprof::host
