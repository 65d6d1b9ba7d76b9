// NVIDIA's driver and devices, from /proc and from NVML if its library is installed. Nothing is linked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/host/host.hpp"

namespace ddpprof::host {

struct Driver {
  Reading<std::string> version;  // of the kernel module
  std::int64_t devices = 0;      // folders in /proc/driver/nvidia/gpus
  Reading<std::string> models;   // of the devices, without duplicates: "NVIDIA A10, NVIDIA A100-SXM4-40GB"
  Reading<bool> profiling_for_administrators;  // hardware counters require CAP_SYS_ADMIN
};
Driver read_driver(const Host& host);

// The rights of this process, and its debugger.
struct Rights {
  Reading<bool> administrator;   // CAP_SYS_ADMIN is in effect
  Reading<std::int64_t> tracer;  // the process that traces this one (a debugger, strace); 0: none
};
Rights read_rights(const Host& host);

struct Gpu {
  std::string name;
  std::string bus;
  Reading<std::int64_t> memory_bytes, memory_free_bytes;
  Reading<bool> mig;                       // split into instances
  Reading<int> nvlinks;                    // active links
  Reading<std::string> nvlink_version;     // "4.0"
  Reading<double> nvlink_gb_per_s;         // in each direction, sum of all active links; 10^9 bytes
  Reading<std::string> pcie;               // "gen 4 ×16 of gen 5 ×16"
  Reading<bool> pcie_narrow;               // fewer lanes than possible
  Reading<int> clock_mhz, most_clock_mhz;  // of the multiprocessors
  Reading<std::string> slowed_by;          // "" if nothing slows it
  Reading<int> processes;                  // that compute on it
  Reading<bool> persistent;                // the driver keeps it initialised
  Reading<std::string> compute_mode;       // "default", "exclusive process", "prohibited"
  Reading<std::int64_t> memory_errors;     // that ECC could not correct, since the driver was loaded
  std::vector<int> peers;                  // devices whose memory it can read directly (P2P)
  std::vector<std::string> paths;          // to each device: "NVLink", or the PCIe path as in nvidia-smi topo -m
};

struct Nvml {
  Reading<std::vector<Gpu>> gpus;     // unknown: no library, or it returned an error
  Reading<std::string> cuda_version;  // the newest version that the driver supports
};

// Loads `library` at run time. Each missing fact has its reason.
Nvml read_nvml(const std::string& library = "libnvidia-ml.so.1");

// Returns true if the CUDA driver's library can be loaded, as a worker would load it; otherwise unknown, with the
// reason.
Reading<bool> cuda_loads(const std::string& library = "libcuda.so.1");

}  // namespace ddpprof::host
