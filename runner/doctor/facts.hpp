// The facts that `ddpprof doctor` checks, read once: machine, drivers, installation, environment.
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

// Activity of the machine during a short window in which no rank of ddpprof runs.
struct Window {
  double seconds = 0;
  host::Reading<host::CpuTimes> times;  // spent in the window
  std::vector<host::BusyProcess> busy;
  std::optional<double> visible_cores;  // used by all processes in /proc, with this process
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
  std::map<std::string, std::string> environment;  // variables that can change a measurement
  Worker worker;
  Tracer tracer;
  Libraries libraries;
};

// Reads the facts below a root folder only. Window, NVML, programs and addresses stay unknown.
Facts recorded_facts(const host::Host& host);

struct LookOptions {
  std::string folder = ".";  // folder for databases
  std::chrono::milliseconds window{500};
  std::chrono::milliseconds worker_limit{20'000};  // a first start reads gigabytes of libraries from a disk
};
// Reads the facts of this machine. Takes the time of the window and of a worker's start.
Facts look(const LookOptions& options);

// The variables of `environment` that can change a measurement.
std::map<std::string, std::string> relevant_variables(const std::vector<std::string>& environment);

}  // namespace ddpprof::doctor
