#include "runner/host/activity.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace ddpprof::host {
namespace {

std::int64_t ns_per_tick() {
  static const std::int64_t tick = 1'000'000'000 / std::max(1L, sysconf(_SC_CLK_TCK));
  return tick;
}

}  // namespace

Reading<CpuTimes> read_cpu_times(const Host& host) {
  const Reading<std::string> text = host.text("/proc/stat");
  if (!text) return Reading<CpuTimes>::unknown(text.why);
  CpuTimes times;
  bool found = false;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name.rfind("cpu", 0) != 0) break;  // the lines of the processors come first
    if (name != "cpu") {
      ++times.cpus;
      continue;
    }
    std::array<std::int64_t, 8> ticks{};  // user nice system idle iowait irq softirq steal
    for (std::int64_t& value : ticks) {
      if (!(words >> value)) value = 0;  // kernels before 2.6.11 have no steal
    }
    const std::int64_t tick = ns_per_tick();
    times.user_ns = (ticks[0] + ticks[1]) * tick;
    times.system_ns = ticks[2] * tick;
    times.idle_ns = (ticks[3] + ticks[4]) * tick;
    times.interrupt_ns = (ticks[5] + ticks[6]) * tick;
    times.steal_ns = ticks[7] * tick;
    found = true;
  }
  if (!found) return Reading<CpuTimes>::unknown("/proc/stat has no line 'cpu'");
  return Reading<CpuTimes>::of(times);
}

CpuTimes operator-(const CpuTimes& later, const CpuTimes& earlier) {
  CpuTimes difference;
  difference.user_ns = later.user_ns - earlier.user_ns;
  difference.system_ns = later.system_ns - earlier.system_ns;
  difference.interrupt_ns = later.interrupt_ns - earlier.interrupt_ns;
  difference.idle_ns = later.idle_ns - earlier.idle_ns;
  difference.steal_ns = later.steal_ns - earlier.steal_ns;
  difference.cpus = later.cpus;
  return difference;
}

Reading<double> load_average(const Host& host) {
  const Reading<std::string> text = host.line("/proc/loadavg");
  if (!text) return Reading<double>::unknown(text.why);
  std::istringstream words(*text);
  double load = 0;
  if (!(words >> load)) return Reading<double>::unknown("/proc/loadavg: expected a number, found '" + *text + "'");
  return Reading<double>::of(load);
}

std::map<std::int64_t, ProcessTime> read_processes(const Host& host) {
  std::map<std::int64_t, ProcessTime> processes;
  for (const std::string& name : host.names("/proc")) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const Reading<std::string> text = host.text("/proc/" + name + "/stat");
    if (!text) continue;
    // "pid (name) state ppid …": the name may contain any character, including ')'.
    const std::size_t open = text->find('('), close = text->rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open) continue;
    std::istringstream words(text->substr(close + 1));
    std::vector<std::string> fields;  // fields[0] is field 3 of proc_pid_stat(5)
    for (std::string word; words >> word;) fields.push_back(word);
    if (fields.size() < 20) continue;
    ProcessTime process;
    process.name = text->substr(open + 1, close - open - 1);
    process.parent = leading_number(fields[1]).value_or(0);
    process.cpu_ns = (leading_number(fields[11]).value_or(0) + leading_number(fields[12]).value_or(0)) * ns_per_tick();
    process.started_ticks = leading_number(fields[19]).value_or(0);
    processes.emplace(leading_number(name).value_or(0), std::move(process));
  }
  return processes;
}

std::vector<BusyProcess> busy_between(const std::map<std::int64_t, ProcessTime>& earlier,
                                      const std::map<std::int64_t, ProcessTime>& later, std::int64_t elapsed_ns,
                                      double least_cores, std::int64_t own) {
  const auto is_own = [&](std::int64_t pid) {
    for (int depth = 0; depth < 64 && pid > 0; ++depth) {
      if (pid == own) return true;
      const auto found = later.find(pid);
      if (found == later.end()) return false;
      pid = found->second.parent;
    }
    return false;
  };
  std::vector<BusyProcess> busy;
  for (const auto& [pid, process] : later) {
    const auto before = earlier.find(pid);
    const bool same = before != earlier.end() && before->second.started_ticks == process.started_ticks;
    const std::int64_t used_ns = process.cpu_ns - (same ? before->second.cpu_ns : 0);
    const double cores = elapsed_ns > 0 ? static_cast<double>(used_ns) / static_cast<double>(elapsed_ns) : 0.0;
    if (cores > least_cores && !is_own(pid)) busy.push_back({pid, process.name, cores});
  }
  std::stable_sort(busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.cores > b.cores; });
  return busy;
}

Reading<double> cpu_pressure_percent(const Host& host) {
  const Reading<std::string> text = host.line("/proc/pressure/cpu");
  if (!text) return Reading<double>::unknown(text.why);
  const std::size_t at = text->find("avg10=");
  if (at == std::string::npos) return Reading<double>::unknown("/proc/pressure/cpu has no avg10");
  return Reading<double>::of(std::strtod(text->c_str() + at + 6, nullptr));
}

}  // namespace ddpprof::host
