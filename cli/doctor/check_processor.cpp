// Cores, frequency, clock: what a measurement runs on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/doctor/checks.hpp"

namespace ddpprof::cli {
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
  speed.found = found.mean_hz ? fmt::format("{:.2f} GHz now", *found.mean_hz / 1e9) : unreadable(found.mean_hz.why);
  if (found.most_hz) speed.found += fmt::format(", {:.2f} GHz at most", *found.most_hz / 1e9);
  if (!found.mean_hz) {
    speed.verdict = Verdict::note;
    speed.advice =
        "a change of frequency during a measurement cannot be seen here: measure in repeats, which are "
        "interleaved over N";
  }
  checks.push_back(speed);

  Check governor{area, "frequency governor", "", Verdict::good, ""};
  if (!found.governor) {
    governor.found = unreadable(found.governor.why);
    if (!facts.cpu.virtual_machine) governor.verdict = Verdict::note;
  } else {
    governor.found = *found.governor;
    if (*found.governor != "performance") {
      governor.verdict = Verdict::note;
      governor.advice =
          "the frequency follows the load, so the first steps and small N run slower: cpupower "
          "frequency-set -g performance";
    }
  }
  checks.push_back(governor);

  Check turbo{area, "turbo", "", Verdict::good, ""};
  if (!found.turbo) {
    turbo.found = unreadable(found.turbo.why);
  } else {
    turbo.found = *found.turbo ? "on" : "off";
    if (*found.turbo) {
      turbo.verdict = Verdict::note;
      turbo.advice =
          "one busy core runs faster than all of them together, so part of what N = 1 has over N is "
          "frequency: switch turbo off (intel_pstate/no_turbo or cpufreq/boost) for figures that compare";
    }
  }
  checks.push_back(turbo);

  Check heat{area, "thermal throttling", "", Verdict::good, ""};
  if (!facts.thermal_throttles) {
    heat.found = unreadable(facts.thermal_throttles.why);
  } else {
    heat.found = fmt::format("{} times since boot", *facts.thermal_throttles);
    if (*facts.thermal_throttles > 0) {
      heat.verdict = Verdict::note;
      heat.advice = "it has been too hot before; the report says whether it happened while measuring";
    }
  }
  checks.push_back(heat);
}

void clocks(const Facts& facts, Checks& checks) {
  Check source{area, "clock source", "", Verdict::good, ""};
  if (!facts.clock_source) {
    source.found = unreadable(facts.clock_source.why);
  } else {
    const std::string& name = *facts.clock_source;
    source.found = name;
    const bool fast =
        name == "tsc" || name == "kvm-clock" || name == "arch_sys_counter" || name.find("tsc") != std::string::npos;
    if (!fast) {
      source.verdict = Verdict::note;
      source.advice =
          "each look at this clock is a system call of a microsecond or more, and tracing looks at it for "
          "every range: boot with clocksource=tsc where the processor allows it";
    }
  }
  checks.push_back(source);

  Check paranoid{area, "perf_event_paranoid", "", Verdict::good, ""};
  if (!facts.perf_event_paranoid) {
    paranoid.found = unreadable(facts.perf_event_paranoid.why);
  } else {
    paranoid.found = fmt::format("{}: ddpprof does not need it", *facts.perf_event_paranoid);
    if (*facts.perf_event_paranoid > 2) {
      paranoid.verdict = Verdict::note;
      paranoid.advice = "for perf beside ddpprof: sysctl kernel.perf_event_paranoid=2 or less";
    }
  }
  checks.push_back(paranoid);
}

}  // namespace

void check_processor(const Facts& facts, Checks& checks) {
  Check model{area, "model", "", Verdict::good, ""};
  model.found = facts.cpu.model ? *facts.cpu.model : unreadable(facts.cpu.model.why);
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

}  // namespace ddpprof::cli
