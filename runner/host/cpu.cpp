#include "runner/host/cpu.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

namespace ddpprof::host {
namespace {

const std::string cpu_folder = "/sys/devices/system/cpu";

std::string folder_of(int cpu) { return cpu_folder + "/cpu" + std::to_string(cpu); }

Reading<std::vector<int>> cpu_list(Reading<std::string> text) {
  if (!text) return Reading<std::vector<int>>::unknown(text.why);
  std::vector<int> cpus = parse_cpu_list(*text);
  if (cpus.empty()) return Reading<std::vector<int>>::unknown("expected a list of processors, found '" + *text + "'");
  return Reading<std::vector<int>>::of(std::move(cpus));
}

Reading<std::vector<int>> online_cpus(const Host& host) { return cpu_list(host.line(cpu_folder + "/online")); }

bool has_flag(const std::string& cpuinfo, const std::string& flag) {
  std::istringstream words(field(cpuinfo, "flags").value_or(""));
  for (std::string word; words >> word;) {
    if (word == flag) return true;
  }
  return false;
}

// Returns the cores of one folder's quota; nothing if it has no quota.
std::optional<double> folder_quota(const Host& host, const CgroupFolder& folder) {
  double quota = 0, period = 0;
  if (folder.unified) {
    std::istringstream text(host.line(folder.path + "/cpu.max").value.value_or("max 100000"));
    if (!(text >> quota >> period)) return std::nullopt;  // "max" is not a number: no limit
  } else {
    quota = static_cast<double>(host.number(folder.path + "/cpu.cfs_quota_us").value.value_or(-1));
    period = static_cast<double>(host.number(folder.path + "/cpu.cfs_period_us").value.value_or(0));
  }
  if (quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

Reading<double> most_of_cpuinfo(const std::string& cpuinfo) {
  double most = 0;
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);)
    if (const auto mhz = field(line, "cpu MHz")) most = std::max(most, std::strtod(mhz->c_str(), nullptr));
  if (!(most > 0)) return Reading<double>::unknown("/proc/cpuinfo has no 'cpu MHz'");
  return Reading<double>::of(most * 1e6);
}

}  // namespace

Cpu read_cpu(const Host& host) {
  Cpu cpu;
  const Reading<std::string> cpuinfo = host.text("/proc/cpuinfo");
  const std::string info = cpuinfo.value.value_or("");
  if (const auto model = field(info, "model name")) {
    cpu.model = Reading<std::string>::of(*model);
  } else {
    cpu.model = Reading<std::string>::unknown(cpuinfo ? "/proc/cpuinfo has no 'model name'" : cpuinfo.why);
  }
  cpu.virtual_machine = has_flag(info, "hypervisor");
  cpu.counts_cycles = has_flag(info, "aperfmperf");
  cpu.online = online_cpus(host);
  const Reading<std::string> status = host.text("/proc/self/status");
  const auto allowed = status ? field(*status, "Cpus_allowed_list") : std::nullopt;
  cpu.allowed = cpu_list(
      allowed ? Reading<std::string>::of(*allowed)
              : Reading<std::string>::unknown(status ? "/proc/self/status has no Cpus_allowed_list" : status.why));
  if (!cpu.allowed) {
    cpu.physical = Reading<int>::unknown(cpu.allowed.why);
    return cpu;
  }
  std::set<std::string> siblings;
  for (const int id : *cpu.allowed) {
    const Reading<std::string> list = host.line(folder_of(id) + "/topology/thread_siblings_list");
    if (!list) {
      cpu.physical = Reading<int>::unknown(list.why);
      return cpu;
    }
    siblings.insert(*list);
  }
  cpu.physical = Reading<int>::of(static_cast<int>(siblings.size()));
  return cpu;
}

std::optional<Quota> read_quota(const Host& host) {
  std::optional<Quota> least;
  for (const CgroupFolder& folder : cgroup_folders(host, "cpu")) {
    const std::optional<double> quota = folder_quota(host, folder);
    if (quota && (!least || *quota < least->cores)) least = Quota{*quota, folder.path};
  }
  return least;
}

std::optional<double> quota_cores(const Host& host) {
  const std::optional<Quota> quota = read_quota(host);
  return quota ? std::optional(quota->cores) : std::nullopt;
}

std::int64_t usable_cores(const Host& host, std::int64_t fallback) {
  const Reading<std::string> status = host.text("/proc/self/status");
  const auto allowed = status ? field(*status, "Cpus_allowed_list") : std::nullopt;
  const std::size_t listed = allowed ? parse_cpu_list(*allowed).size() : 0;
  const std::int64_t cores = std::max<std::int64_t>(1, listed > 0 ? static_cast<std::int64_t>(listed) : fallback);
  const std::optional<double> quota = quota_cores(host);
  return quota ? std::min(cores, std::max<std::int64_t>(1, std::llround(std::ceil(*quota)))) : cores;
}

Reading<std::int64_t> quota_throttled_ns(const Host& host) {
  std::optional<std::int64_t> most;
  for (const CgroupFolder& folder : cgroup_folders(host, "cpu")) {
    const Reading<std::string> text = host.text(folder.path + "/cpu.stat");
    if (!text) continue;
    std::istringstream lines(*text);
    std::string name;
    std::int64_t value = 0;
    while (lines >> name >> value) {
      if (name == "throttled_usec") most = std::max(most.value_or(0), value * 1000);
      if (name == "throttled_time") most = std::max(most.value_or(0), value);
    }
  }
  if (most) return Reading<std::int64_t>::of(*most);
  return Reading<std::int64_t>::unknown("no cgroup of this process has a cpu.stat with throttled time");
}

Reading<double> read_frequency_hz(const Host& host) {
  const Reading<std::vector<int>> online = online_cpus(host);
  std::int64_t most_khz = 0;
  for (const int id : online.value.value_or(std::vector<int>{})) {
    const Reading<std::int64_t> khz = host.number(folder_of(id) + "/cpufreq/scaling_cur_freq");
    if (khz) most_khz = std::max(most_khz, *khz);
  }
  if (most_khz > 0) return Reading<double>::of(static_cast<double>(most_khz) * 1e3);
  const Reading<std::string> cpuinfo = host.text("/proc/cpuinfo");
  if (!cpuinfo) return Reading<double>::unknown(cpuinfo.why);
  if (!has_flag(*cpuinfo, "aperfmperf"))
    return Reading<double>::unknown(
        "no cpufreq in /sys, and this processor does not expose its cycle counters (aperfmperf): the MHz in "
        "/proc/cpuinfo is nominal");
  return most_of_cpuinfo(*cpuinfo);
}

Frequency read_frequency(const Host& host) {
  Frequency found;
  found.now_hz = read_frequency_hz(host);
  const Reading<std::vector<int>> online = online_cpus(host);
  std::set<std::string> governors;
  std::int64_t most_khz = 0;
  std::string why = online ? "" : online.why;
  for (const int id : online.value.value_or(std::vector<int>{})) {
    const Reading<std::string> governor = host.line(folder_of(id) + "/cpufreq/scaling_governor");
    if (governor) governors.insert(*governor);
    const Reading<std::int64_t> most = host.number(folder_of(id) + "/cpufreq/cpuinfo_max_freq");
    if (most) most_khz = std::max(most_khz, *most);
    if (why.empty() && !governor) why = governor.why;
  }
  std::string names;
  for (const std::string& name : governors) names += (names.empty() ? "" : ", ") + name;
  found.governor = names.empty() ? Reading<std::string>::unknown(why) : Reading<std::string>::of(names);
  found.most_hz =
      most_khz > 0 ? Reading<double>::of(static_cast<double>(most_khz) * 1e3) : Reading<double>::unknown(why);
  const Reading<std::int64_t> no_turbo = host.number(cpu_folder + "/intel_pstate/no_turbo");
  const Reading<std::int64_t> boost = host.number(cpu_folder + "/cpufreq/boost");
  if (no_turbo) {
    found.turbo = Reading<bool>::of(*no_turbo == 0);
  } else if (boost) {
    found.turbo = Reading<bool>::of(*boost != 0);
  } else {
    found.turbo = Reading<bool>::unknown(no_turbo.why + "; " + boost.why);
  }
  return found;
}

Reading<std::int64_t> thermal_throttles(const Host& host) {
  const Reading<std::vector<int>> online = online_cpus(host);
  if (!online) return Reading<std::int64_t>::unknown(online.why);
  std::int64_t total = 0;
  std::set<std::string> packages;  // every processor of a package shows the package's count
  for (const int id : *online) {
    const std::string folder = folder_of(id);
    const Reading<std::int64_t> core = host.number(folder + "/thermal_throttle/core_throttle_count");
    if (!core) return Reading<std::int64_t>::unknown(core.why);
    total += *core;
    const Reading<std::int64_t> package = host.number(folder + "/thermal_throttle/package_throttle_count");
    const std::string name = host.line(folder + "/topology/physical_package_id").value.value_or("0");
    if (package && packages.insert(name).second) total += *package;
  }
  return Reading<std::int64_t>::of(total);
}

}  // namespace ddpprof::host
