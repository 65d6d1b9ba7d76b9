// What the machine is busy with: processor time by kind and by process, between two looks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runner/host/host.hpp"

namespace ddpprof::host {

// Since boot, over all processors, in nanoseconds (resolution: one tick, 10 ms). /proc/stat, proc(5).
struct CpuTimes {
  std::int64_t user_ns = 0;  // guests and nice included
  std::int64_t system_ns = 0;
  std::int64_t interrupt_ns = 0;  // irq and softirq
  std::int64_t idle_ns = 0;       // iowait included
  std::int64_t steal_ns = 0;      // a virtual machine's processors wanted to run and the hypervisor ran another
  int cpus = 0;

  std::int64_t total_ns() const { return user_ns + system_ns + interrupt_ns + idle_ns + steal_ns; }
};
Reading<CpuTimes> read_cpu_times(const Host& host);
CpuTimes operator-(const CpuTimes& later, const CpuTimes& earlier);

Reading<double> load_average(const Host& host);  // of the last minute

struct ProcessTime {
  std::string name;
  std::int64_t parent = 0;
  std::int64_t started_ticks = 0;  // tells a process from a later one with its number
  std::int64_t cpu_ns = 0;         // user and system
};
// By process id. Processes that end meanwhile are left out.
std::map<std::int64_t, ProcessTime> read_processes(const Host& host);

struct BusyProcess {
  std::int64_t pid = 0;
  std::string name;
  double cores = 0;  // processor time over the time between the looks
};
// Processes that used more than `least_cores`, busiest first. `own`: it and its descendants are left out.
std::vector<BusyProcess> busy_between(const std::map<std::int64_t, ProcessTime>& earlier,
                                      const std::map<std::int64_t, ProcessTime>& later, std::int64_t elapsed_ns,
                                      double least_cores, std::int64_t own);

// Pressure stall: how long some task waited for a processor while others ran, in percent of the last 10 s.
Reading<double> cpu_pressure_percent(const Host& host);

}  // namespace ddpprof::host
