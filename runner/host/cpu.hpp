// The processor: the cores that may be used, their frequency, and what slows them down.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/host/host.hpp"

namespace ddpprof::host {

struct Cpu {
  Reading<std::string> model;
  Reading<std::vector<int>> online;   // logical processors
  Reading<std::vector<int>> allowed;  // where this process may run (its affinity)
  Reading<int> physical;              // distinct physical cores among the allowed ones
  bool virtual_machine = false;       // the processor reports a hypervisor
  bool counts_cycles = false;         // x86's aperfmperf: the MHz in /proc/cpuinfo is measured, not nominal
};
Cpu read_cpu(const Host& host);

// The cgroup's quota (v2: cpu.max, v1: cpu.cfs_*): the lowest one of the group and its parents. Neither value nor
// reason if there is no quota.
struct Quota {
  double cores = 0.0;
  std::string folder;  // of the group with the quota; all its processes share the quota
};
std::optional<Quota> read_quota(const Host& host);
std::optional<double> quota_cores(const Host& host);  // the quota in cores

// Returns the number of cores to plan with: the affinity, but not more than the quota rounded up; at least 1. Returns
// `fallback` if the affinity cannot be read.
std::int64_t usable_cores(const Host& host, std::int64_t fallback);

// Returns the time in which the quota of the group (or of a parent) kept runnable threads waiting, since the group was
// created.
Reading<std::int64_t> quota_throttled_ns(const Host& host);

struct Frequency {
  Reading<double> now_hz;   // of the fastest processor
  Reading<double> most_hz;  // the highest possible frequency, including turbo
  Reading<std::string> governor;
  Reading<bool> turbo;  // turbo is allowed
};
Frequency read_frequency(const Host& host);
// The frequency of the fastest online processor, because that is a busy one. Idle processors use their lowest frequency
// or sleep; a mean would measure how many are idle.
Reading<double> read_frequency_hz(const Host& host);

// Returns how often a core or package was slowed because of its temperature, in total since boot.
Reading<std::int64_t> thermal_throttles(const Host& host);

}  // namespace ddpprof::host
