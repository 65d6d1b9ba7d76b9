// What else the machine does: load, busy processes, stolen and throttled time.
#include <fmt/format.h>

#include <algorithm>

#include "cli/doctor/checks.hpp"

namespace ddpprof::cli {
namespace {

constexpr const char* area = "activity";
constexpr double others_note = 0.05, others_bad = 0.25;  // of the machine
constexpr double steal_note = 0.01, steal_bad = 0.05;
constexpr std::size_t processes_named = 5;

void others(const Facts& facts, Checks& checks) {
  Check check{area, "other processes", "", Verdict::good, ""};
  double cores = 0;
  std::string named;
  for (std::size_t i = 0; i < facts.window.busy.size(); ++i) {
    const auto& process = facts.window.busy[i];
    cores += process.cores;
    if (i < processes_named)
      named += fmt::format("{}{} (pid {}) {:.2f} cores", i > 0 ? ", " : "", process.name, process.pid, process.cores);
  }
  if (!facts.window.times) {
    check.found = unreadable(facts.window.times.why);
    checks.push_back(check);
    return;
  }
  const double capacity = std::max(1, facts.window.times->cpus);
  const double share = cores / capacity;
  check.found = named.empty() ? fmt::format("none above 0.05 cores over {:.1f} s", facts.window.seconds)
                              : fmt::format("{} over {:.1f} s", named, facts.window.seconds);
  if (share > others_note) {
    check.verdict = share > others_bad ? Verdict::bad : Verdict::note;
    check.advice = fmt::format(
        "they take {:.0f} % of this machine, and a step waits for its slowest rank: end them, "
        "or measure when they rest",
        100.0 * share);
  }
  checks.push_back(check);
}

void steal(const Facts& facts, Checks& checks) {
  Check check{area, "steal time", "", Verdict::good, ""};
  if (!facts.window.times) {
    check.found = unreadable(facts.window.times.why);
  } else {
    const auto total = static_cast<double>(facts.window.times->total_ns());
    const double share = total > 0 ? static_cast<double>(facts.window.times->steal_ns) / total : 0.0;
    check.found = fmt::format("{:.1f} % over {:.1f} s", 100.0 * share, facts.window.seconds);
    if (share > steal_note) {
      check.verdict = share > steal_bad ? Verdict::bad : Verdict::note;
      check.advice =
          "another virtual machine had the processor: use a host of your own (dedicated instance), or more "
          "repeats";
    }
  }
  checks.push_back(check);
}

}  // namespace

void check_activity(const Facts& facts, Checks& checks) {
  Check load{area, "load average", "", Verdict::good, ""};
  if (!facts.load) {
    load.found = unreadable(facts.load.why);
  } else {
    load.found = fmt::format("{:.2f} in the last minute", *facts.load);
    if (*facts.load > 0.5 * static_cast<double>(facts.usable_cores)) {
      load.verdict = Verdict::note;
      load.advice = "this machine was busy in the last minute; see the processes below, and wait until it falls";
    }
  }
  checks.push_back(load);
  others(facts, checks);
  steal(facts, checks);

  Check pressure{area, "waiting for a core", "", Verdict::good, ""};
  if (!facts.pressure_percent) {
    pressure.found = unreadable(facts.pressure_percent.why);
  } else {
    pressure.found = fmt::format("{:.1f} % of the last 10 s", *facts.pressure_percent);
    if (*facts.pressure_percent > 10.0) {
      pressure.verdict = Verdict::note;
      pressure.advice = "more threads want to run than there are cores";
    }
  }
  checks.push_back(pressure);

  Check quota{area, "time lost to the cgroup's quota", "", Verdict::good, ""};
  if (!facts.quota_throttled_ns) {
    quota.found = unreadable(facts.quota_throttled_ns.why);
  } else {
    quota.found =
        fmt::format("{:.3g} s since the group was made", static_cast<double>(*facts.quota_throttled_ns) / 1e9);
    if (*facts.quota_throttled_ns > 0 && facts.quota_cores) {
      quota.verdict = Verdict::note;
      quota.advice = "its threads were stopped: raise the quota, or use fewer ranks and threads";
    }
  }
  checks.push_back(quota);
}

}  // namespace ddpprof::cli
