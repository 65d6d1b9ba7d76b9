// Cores, frequency, clock: what a measurement runs on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/doctor/checks.hpp"

namespace ddpprof::doctor {
namespace {

constexpr const char* area = "processor";

void cores(const Facts& facts, Checks& checks) {
  const auto& cpu = facts.cpu;
  Check check{area, "cores", "", Verdict::good, ""};
  check.found = fmt::format("{} to use", facts.usable_cores);
  const std::size_t online = cpu.online ? cpu.online->size() : 0;
  check.found += cpu.online ? fmt::format("; {} online", online) : "; online: " + unreadable(cpu.online.why);
  if (!cpu.allowed) {
    check.found += "; affinity: " + unreadable(cpu.allowed.why);
  } else if (cpu.online && cpu.allowed->size() < online) {
    check.found += fmt::format("; affinity allows {}", cpu.allowed->size());
    check.verdict = Verdict::note;
    check.advice = "start it without taskset, or with a larger cpuset, to measure on all of them";
  }
  if (facts.quota_cores) {
    check.found += fmt::format("; cgroup quota {:.3g} cores", *facts.quota_cores);
    check.verdict = Verdict::note;
    check.advice =
        "a quota stops all threads for the rest of each period once it is used up, which lengthens single "
        "steps: give whole cores (cpuset) where you can, and keep ranks × threads within the quota";
  } else {
    check.found += "; no cgroup quota";
  }
  if (facts.usable_cores < 2 && check.advice.empty()) {
    check.verdict = Verdict::note;
    check.advice = "every N above 1 shares one core: its steps say how cores are shared, not how N ranks scale";
  }
  checks.push_back(check);

  Check smt{area, "hardware threads", "", Verdict::good, ""};
  if (!cpu.physical) {
    smt.found = unreadable(cpu.physical.why);
    smt.verdict = Verdict::note;
    smt.advice = "count physical cores yourself before comparing N";
  } else {
    const auto threads = static_cast<int>(cpu.allowed->size());
    smt.found = fmt::format("{} on {} physical core{}", threads, *cpu.physical, *cpu.physical == 1 ? "" : "s");
    if (threads > *cpu.physical) {
      smt.verdict = Verdict::note;
      smt.advice = fmt::format(
          "two ranks on one physical core slow each other though each has a core to the eye: keep workers × "
          "measure.threads_per_rank at {} or below, or switch SMT off (/sys/devices/system/cpu/smt/control)",
          *cpu.physical);
    }
  }
  checks.push_back(smt);
}

void frequency(const Facts& facts, Checks& checks) {
  const auto& found = facts.frequency;
  Check speed{area, "frequency", "", Verdict::good, ""};
  speed.found = found.now_hz ? fmt::format("{:.2f} GHz now", *found.now_hz / 1e9) : unreadable(found.now_hz.why);
  if (found.most_hz) speed.found += fmt::format(", {:.2f} GHz at most", *found.most_hz / 1e9);
  if (!found.now_hz) {
    speed.verdict = Verdict::note;
    speed.advice =
        "a change of frequency during a measurement cannot be seen here: measure in repeats, which are "
        "interleaved over N";
  }
  checks.push_back(speed);

  Check governor = judge(
      area, "frequency governor", found.governor, [](const std::string& name) { return name; },
      [](const std::string& name) -> Judgement {
        if (name == "performance") return {};
        return {Verdict::note,
                "the frequency follows the load, so the first steps and small N run slower: cpupower "
                "frequency-set -g performance"};
      });
  // A guest has no governor of its own.
  if (!found.governor && facts.cpu.virtual_machine) governor.verdict = Verdict::good;
  checks.push_back(governor);
  checks.push_back(judge(
      area, "turbo", found.turbo, [](bool on) { return std::string(on ? "on" : "off"); },
      [](bool on) -> Judgement {
        if (!on) return {};
        return {Verdict::note,
                "one busy core runs faster than all of them together, so part of what N = 1 has over N is "
                "frequency: switch turbo off (intel_pstate/no_turbo or cpufreq/boost) for figures that compare"};
      }));
  checks.push_back(judge(
      area, "thermal throttling", facts.thermal_throttles,
      [](std::int64_t times) { return fmt::format("{} times since boot", times); },
      [](std::int64_t times) -> Judgement {
        if (times == 0) return {};
        return {Verdict::note, "it has been too hot before; the report says whether it happened while measuring"};
      }));
}

void clocks(const Facts& facts, Checks& checks) {
  checks.push_back(judge(
      area, "clock source", facts.clock_source, [](const std::string& name) { return name; },
      [](const std::string& name) -> Judgement {
        const bool fast = name == "kvm-clock" || name == "arch_sys_counter" || name.find("tsc") != std::string::npos;
        if (fast) return {};
        return {Verdict::note,
                "each look at this clock is a system call of a microsecond or more, and tracing looks at it for "
                "every range: boot with clocksource=tsc where the processor allows it"};
      }));
  checks.push_back(judge(
      area, "perf_event_paranoid", facts.perf_event_paranoid,
      [](std::int64_t level) { return fmt::format("{}: ddpprof does not need it", level); },
      [](std::int64_t level) -> Judgement {
        if (level <= 2) return {};
        return {Verdict::note, "for perf beside ddpprof: sysctl kernel.perf_event_paranoid=2 or less"};
      }));
}

}  // namespace

void check_processor(const Facts& facts, Checks& checks) {
  Check model{area, "model", "", Verdict::good, ""};
  model.found = facts.cpu.model ? *facts.cpu.model : unreadable(facts.cpu.model.why);
  if (!facts.cpu.model) model.verdict = Verdict::note;
  if (facts.cpu.virtual_machine) {
    model.found += ", in a virtual machine";
    model.verdict = Verdict::note;
    model.advice =
        "other machines on the same hardware are invisible but for steal time: measure in repeats, and "
        "believe differences only where the repeats agree";
  }
  checks.push_back(model);
  cores(facts, checks);
  frequency(facts, checks);
  clocks(facts, checks);
}

}  // namespace ddpprof::doctor
