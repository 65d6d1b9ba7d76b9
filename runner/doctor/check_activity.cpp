// Checks of other activity: load, busy processes, stolen and throttled time.
#include <fmt/format.h>

#include <algorithm>

#include "runner/doctor/checks.hpp"

namespace ddpprof::doctor {
namespace {

constexpr const char* activity_area = "activity";
constexpr double others_note = 0.05, others_bad = 0.25;  // shares of the machine
constexpr double unseen_note = 0.05;                     // share of the machine; /proc/stat counts ticks of 10 ms
constexpr double steal_note = 0.01, steal_bad = 0.05;
constexpr std::size_t processes_named = 5;

void other_processes(const Facts& facts, Checks& checks) {
  Check check{activity_area, "other processes", "", Verdict::good, ""};
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
    check.verdict = Verdict::note;
    checks.push_back(check);
    return;
  }
  const double capacity = std::max(1, facts.window.times->cpus);
  check.found = named.empty() ? fmt::format("none above 0.05 cores over {:.1f} s", facts.window.seconds)
                              : fmt::format("{} over {:.1f} s", named, facts.window.seconds);
  // /proc/stat counts the whole machine. /proc shows only this container's processes, or with hidepid this user's.
  const double all = static_cast<double>(facts.window.times->user_ns + facts.window.times->system_ns) / 1e9 /
                     std::max(1e-9, facts.window.seconds);
  const double unseen = facts.window.visible_cores ? all - *facts.window.visible_cores : 0.0;
  const bool hidden = unseen > unseen_note * capacity;
  if (hidden) {
    check.found += fmt::format("; {:.2f} cores by processes that are not visible here", unseen);
    cores += unseen;
  }
  const double share = cores / capacity;
  if (share > others_note) {
    check.verdict = share > others_bad ? Verdict::bad : Verdict::note;
    check.advice = fmt::format(
        "they use {:.0f} % of this machine, and a step waits for its slowest rank: end them, "
        "or measure when they are idle",
        100.0 * share);
  }
  checks.push_back(check);
}

Check steal(const Facts& facts) {
  const auto share_of = [](const host::CpuTimes& times) {
    const auto total = static_cast<double>(times.total_ns());
    return total > 0 ? static_cast<double>(times.steal_ns) / total : 0.0;
  };
  return judge(
      activity_area, "steal time", facts.window.times,
      [&](const host::CpuTimes& times) {
        return fmt::format("{:.1f} % over {:.1f} s", 100.0 * share_of(times), facts.window.seconds);
      },
      [&](const host::CpuTimes& times) -> Judgement {
        if (share_of(times) <= steal_note) return {};
        return {share_of(times) > steal_bad ? Verdict::bad : Verdict::note,
                "another virtual machine used the processor: use a dedicated host, or more "
                "repeats"};
      });
}

}  // namespace

void check_activity(const Facts& facts, Checks& checks) {
  checks.push_back(judge(
      activity_area, "load average", facts.load,
      [](double load) { return fmt::format("{:.2f} in the last minute", load); },
      [&](double load) -> Judgement {
        if (load <= 0.5 * static_cast<double>(facts.usable_cores)) return {};
        return {Verdict::note,
                "this machine was busy in the last minute: see the processes below, and wait until the load falls"};
      }));
  other_processes(facts, checks);
  checks.push_back(steal(facts));
  checks.push_back(judge(
      activity_area, "waiting for a core", facts.pressure_percent,
      [](double percent) { return fmt::format("{:.1f} % of the last 10 s", percent); },
      [](double percent) -> Judgement {
        if (percent <= 10.0) return {};
        return {Verdict::note, "more threads are ready to run than there are cores"};
      }));
  checks.push_back(judge(
      activity_area, "time lost to the cgroup's quota", facts.quota_throttled_ns,
      [](std::int64_t ns) { return fmt::format("{:.3g} s since the cgroup was made", static_cast<double>(ns) / 1e9); },
      [&](std::int64_t ns) -> Judgement {
        if (ns == 0 || !facts.quota_cores) return {};
        return {Verdict::note, "threads were stopped: raise the quota, or use fewer ranks and threads"};
      }));
}

}  // namespace ddpprof::doctor
