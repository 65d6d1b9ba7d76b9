// The load of the machine: processor time by kind and by process, between two readings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runner/host/host.hpp"

namespace ddpprof::host {

// Since boot, over all processors, in nanoseconds (resolution: one tick, 10 ms). Source: /proc/stat, proc(5).
struct CpuTimes {
  std::int64_t user_ns = 0;  // including guests and nice
  std::int64_t system_ns = 0;
  std::int64_t interrupt_ns = 0;  // irq and softirq
  std::int64_t idle_ns = 0;       // including iowait
  std::int64_t steal_ns = 0;      // time in which a virtual machine was ready to run but the hypervisor ran another
  int cpus = 0;

  std::int64_t total_ns() const { return user_ns + system_ns + interrupt_ns + idle_ns + steal_ns; }
};
Reading<CpuTimes> read_cpu_times(const Host& host);
CpuTimes operator-(const CpuTimes& later, const CpuTimes& earlier);

Reading<double> load_average(const Host& host);  // average of the last minute

struct ProcessTime {
  std::string name;
  std::int64_t parent = 0;
  std::int64_t started_ticks = 0;  // distinguishes a process from a later one with the same id
  std::int64_t cpu_ns = 0;         // user and system
};
// By process id. Processes that end during the reading are left out.
std::map<std::int64_t, ProcessTime> read_processes(const Host& host);

struct BusyProcess {
  std::int64_t pid = 0;
  std::string name;
  double cores = 0;  // processor time / time between the readings
};
// Returns the processes that used more than `least_cores`, busiest first. Leaves out `own` and its descendants.
std::vector<BusyProcess> busy_between(const std::map<std::int64_t, ProcessTime>& earlier,
                                      const std::map<std::int64_t, ProcessTime>& later, std::int64_t elapsed_ns,
                                      double least_cores, std::int64_t own);

// Pressure stall information: the share of the last 10 s, in percent, in which some task waited for a processor.
Reading<double> cpu_pressure_percent(const Host& host);

}  // namespace ddpprof::host
