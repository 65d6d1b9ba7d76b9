// Checks of cores, frequency and clock.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runner/doctor/checks.hpp"

namespace ddpprof::doctor {
namespace {

constexpr const char* processor_area = "processor";

void cores(const Facts& facts, Checks& checks) {
  const auto& cpu = facts.cpu;
  Check check{processor_area, "cores", "", Verdict::good, ""};
  check.found = fmt::format("{} usable", facts.usable_cores);
  const std::size_t online = cpu.online ? cpu.online->size() : 0;
  check.found += cpu.online ? fmt::format("; {} online", online) : "; online: " + unreadable(cpu.online.why);
  if (!cpu.allowed) {
    check.found += "; affinity: " + unreadable(cpu.allowed.why);
  } else if (cpu.online && cpu.allowed->size() < online) {
    check.found += fmt::format("; affinity allows {}", cpu.allowed->size());
    check.verdict = Verdict::note;
    check.advice = "start without taskset, or with a larger cpuset, to measure on all cores";
  }
  if (facts.quota_cores) {
    check.found += fmt::format("; cgroup quota {:.3g} cores", *facts.quota_cores);
    check.verdict = Verdict::note;
    check.advice =
        "when the quota of a period is used up, all threads stop for the rest of it, which lengthens single "
        "steps: use whole cores (cpuset) if you can, and keep ranks × threads within the quota";
  } else {
    check.found += "; no cgroup quota";
  }
  if (facts.usable_cores < 2 && check.advice.empty()) {
    check.verdict = Verdict::note;
    check.advice = "all ranks share one core: the steps of N > 1 show how cores are shared, not how N ranks scale";
  }
  checks.push_back(check);

  Check smt{processor_area, "hardware threads", "", Verdict::good, ""};
  if (!cpu.physical) {
    smt.found = unreadable(cpu.physical.why);
    smt.verdict = Verdict::note;
    smt.advice = "check the number of physical cores before you compare N";
  } else {
    const auto threads = static_cast<int>(cpu.allowed->size());
    smt.found = fmt::format("{} on {} physical core{}", threads, *cpu.physical, *cpu.physical == 1 ? "" : "s");
    if (threads > *cpu.physical) {
      smt.verdict = Verdict::note;
      smt.advice = fmt::format(
          "two ranks on one physical core slow each other: keep workers × measure.threads_per_rank at {} or below, "
          "or switch SMT off (/sys/devices/system/cpu/smt/control)",
          *cpu.physical);
    }
  }
  checks.push_back(smt);
}

void frequency(const Facts& facts, Checks& checks) {
  const auto& found = facts.frequency;
  Check speed{processor_area, "frequency", "", Verdict::good, ""};
  speed.found = found.now_hz ? fmt::format("{:.2f} GHz now", *found.now_hz / 1e9) : unreadable(found.now_hz.why);
  if (found.most_hz) speed.found += fmt::format(", {:.2f} GHz at most", *found.most_hz / 1e9);
  if (!found.now_hz) {
    speed.verdict = Verdict::note;
    speed.advice =
        "changes of the frequency during a measurement are not visible here: use measure.repeats, which "
        "interleaves all N";
  }
  checks.push_back(speed);

  Check governor = judge(
      processor_area, "frequency governor", found.governor, [](const std::string& name) { return name; },
      [](const std::string& name) -> Judgement {
        if (name == "performance") return {};
        return {Verdict::note,
                "the frequency follows the load, so the first steps and small N are slower: cpupower "
                "frequency-set -g performance"};
      });
  // In a virtual machine the host controls the frequency.
  if (!found.governor && facts.cpu.virtual_machine) governor.verdict = Verdict::good;
  checks.push_back(governor);
  checks.push_back(judge(
      processor_area, "turbo", found.turbo, [](bool on) { return std::string(on ? "on" : "off"); },
      [](bool on) -> Judgement {
        if (!on) return {};
        return {
            Verdict::note,
            "a single busy core has a higher frequency than all cores together, which favours N = 1: switch turbo off "
            "(intel_pstate/no_turbo or cpufreq/boost) for comparable figures"};
      }));
  checks.push_back(judge(
      processor_area, "thermal throttling", facts.thermal_throttles,
      [](std::int64_t times) { return fmt::format("{} times since boot", times); },
      [](std::int64_t times) -> Judgement {
        if (times == 0) return {};
        return {Verdict::note,
                "the processor has been too hot before; the report shows whether it happened during a measurement"};
      }));
}

void clocks(const Facts& facts, Checks& checks) {
  checks.push_back(judge(
      processor_area, "clock source", facts.clock_source, [](const std::string& name) { return name; },
      [](const std::string& name) -> Judgement {
        const bool fast = name == "kvm-clock" || name == "arch_sys_counter" || name.find("tsc") != std::string::npos;
        if (fast) return {};
        return {
            Verdict::note,
            "reading this clock is a system call of a microsecond or more, and tracing reads it for every range: boot "
            "with clocksource=tsc if the processor supports it"};
      }));
  checks.push_back(judge(
      processor_area, "perf_event_paranoid", facts.perf_event_paranoid,
      [](std::int64_t level) { return fmt::format("{}: ddpprof does not need it", level); },
      [](std::int64_t level) -> Judgement {
        if (level <= 2) return {};
        return {Verdict::note, "only for perf: sysctl kernel.perf_event_paranoid=2 or less"};
      }));
}

}  // namespace

void check_processor(const Facts& facts, Checks& checks) {
  Check model{processor_area, "model", "", Verdict::good, ""};
  model.found = facts.cpu.model ? *facts.cpu.model : unreadable(facts.cpu.model.why);
  if (!facts.cpu.model) model.verdict = Verdict::note;
  if (facts.cpu.virtual_machine) {
    model.found += ", in a virtual machine";
    model.verdict = Verdict::note;
    model.advice =
        "other virtual machines on the same hardware show only as steal time: use measure.repeats, and trust "
        "only differences that all repeats show";
  }
  checks.push_back(model);
  cores(facts, checks);
  frequency(facts, checks);
  clocks(facts, checks);
}

}  // namespace ddpprof::doctor
