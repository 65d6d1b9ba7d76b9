// Everything `ddpprof doctor` judges by, read once: the machine, its drivers, this installation, the environment.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/doctor/libraries.hpp"
#include "runner/host/activity.hpp"
#include "runner/host/cpu.hpp"
#include "runner/host/gpu.hpp"
#include "runner/host/host.hpp"
#include "runner/host/memory.hpp"
#include "runner/host/network.hpp"
#include "runner/measure/programs.hpp"

namespace ddpprof::doctor {

// What the machine did while nothing of ours ran.
struct Window {
  double seconds = 0;
  host::Reading<host::CpuTimes> times;  // spent meanwhile
  std::vector<host::BusyProcess> busy;
  std::optional<double> visible_cores;  // that all processes in /proc used, this one included
};

using measure::Program;
using measure::Tracer;
using measure::Worker;

struct Facts {
  host::Cpu cpu;
  std::optional<double> quota_cores;
  std::int64_t usable_cores = 1;
  host::Frequency frequency;
  host::Reading<std::int64_t> thermal_throttles, quota_throttled_ns;
  host::Reading<double> load, pressure_percent;
  host::Reading<std::string> clock_source;
  host::Reading<std::int64_t> perf_event_paranoid;
  Window window;
  host::Memory memory;
  std::string database_folder;
  host::Reading<host::Space> shared_memory, disk;
  bool folder_writable = false;
  host::Limits limits;
  host::Driver driver;
  host::Rights rights;
  host::Reading<bool> cuda;
  host::Nvml nvml;
  std::vector<host::Interface> interfaces;
  std::vector<host::FabricPort> fabric;
  std::string host_name;
  host::Reading<std::vector<std::string>> host_addresses;
  std::map<std::string, std::string> environment;  // the variables that can change a measurement
  Worker worker;
  Tracer tracer;
  Libraries libraries;
};

// What a root folder tells; without looking at this machine beside it (no window, no NVML, no programs, no addresses).
Facts recorded_facts(const host::Host& host);

struct LookOptions {
  std::string folder = ".";  // where databases would go
  std::chrono::milliseconds window{500};
  std::chrono::milliseconds worker_limit{20'000};  // a first start reads gigabytes of libraries from a disk
};
// The machine this runs on. Takes the window's time and a worker's start.
Facts look(const LookOptions& options);

// The part of an environment that can change what is measured.
std::map<std::string, std::string> relevant_variables(const std::vector<std::string>& environment);

}  // namespace ddpprof::doctor
