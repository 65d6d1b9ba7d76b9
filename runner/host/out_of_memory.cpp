#include "runner/host/out_of_memory.hpp"

#include <sstream>

namespace ddpprof::host {
namespace {

// Returns the number of the counter in lines of the form "name number".
std::optional<std::int64_t> counter(const Reading<std::string>& text, const std::string& wanted) {
  std::istringstream lines(text.value.value_or(""));
  std::string name;
  std::int64_t value = 0;
  while (lines >> name >> value) {
    if (name == wanted) return value;
  }
  return std::nullopt;
}

std::string from_to(std::int64_t before, std::int64_t after) {
  return "oom_kill went from " + std::to_string(before) + " to " + std::to_string(after);
}

}  // namespace

OutOfMemoryKills read_out_of_memory_kills(const Host& host) {
  OutOfMemoryKills kills;
  // The counter of the victim's own group. Ranks share it with the process that starts them.
  for (const CgroupFolder& folder : cgroup_folders(host, "memory")) {
    const char* file = folder.unified ? "memory.events" : "memory.oom_control";
    kills.group = counter(host.text(folder.path + "/" + file), "oom_kill");
    if (!kills.group) continue;
    kills.group_file = file;
    break;
  }
  kills.machine = counter(host.text("/proc/vmstat"), "oom_kill");
  return kills;
}

std::string describe_kills(const OutOfMemoryKills& before, const OutOfMemoryKills& after) {
  const std::string remedy = ": give the run more memory, or measure fewer workers or a smaller model.";
  if (before.group && after.group && *after.group > *before.group)
    return "The kernel's out-of-memory killer ended it (" + after.group_file + ": " +
           from_to(*before.group, *after.group) + ")" + remedy;
  // The victim may have been a process of another group.
  if (before.machine && after.machine && *after.machine > *before.machine)
    return "The kernel's out-of-memory killer ended a process on this machine during this time (/proc/vmstat: " +
           from_to(*before.machine, *after.machine) + ")" + remedy;
  return "";
}

}  // namespace ddpprof::host
