// The processor: which cores may be used, at which frequency they run, and whether something slows them down.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/host/host.hpp"

namespace ddpprof::host {

struct Cpu {
  Reading<std::string> model;
  Reading<std::vector<int>> online;   // logical processors
  Reading<std::vector<int>> allowed;  // those that this process may run on (its affinity)
  Reading<int> physical;              // distinct physical cores among the allowed ones
  bool virtual_machine = false;       // the processor says that a hypervisor runs it
  bool counts_cycles = false;         // x86's aperfmperf: /proc/cpuinfo's MHz is measured, not nominal
};
Cpu read_cpu(const Host& host);

// The cgroup's quota (v2: cpu.max, v1: cpu.cfs_*), the tightest of the group and its parents; no value, and no reason,
// where there is none.
struct Quota {
  double cores = 0.0;
  std::string folder;  // of the group that has it: those in it share it
};
std::optional<Quota> read_quota(const Host& host);
std::optional<double> quota_cores(const Host& host);  // its cores

// Cores to plan with: the affinity, and no more than the quota rounded up; at least 1. `fallback` where the affinity
// cannot be read.
std::int64_t usable_cores(const Host& host, std::int64_t fallback);

// Time that the group's (or a parent's) quota kept runnable threads waiting, since the group was made.
Reading<std::int64_t> quota_throttled_ns(const Host& host);

struct Frequency {
  Reading<double> now_hz;   // of the fastest processor
  Reading<double> most_hz;  // that the processor can run at, turbo included
  Reading<std::string> governor;
  Reading<bool> turbo;  // allowed
};
Frequency read_frequency(const Host& host);
// Of the fastest online processor, which is a busy one: idle ones fall back to their lowest frequency, or sleep, and a
// mean would say how many are idle.
Reading<double> read_frequency_hz(const Host& host);

// Times that a core or package was slowed because it was too hot, over all of them, since boot.
Reading<std::int64_t> thermal_throttles(const Host& host);

}  // namespace ddpprof::host
