// NVIDIA's driver and devices: what /proc says, and what NVML says where its library is there. Nothing is linked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/host/host.hpp"

namespace ddpprof::host {

struct Driver {
  Reading<std::string> version;                // of the kernel module
  std::int64_t devices = 0;                    // folders in /proc/driver/nvidia/gpus
  Reading<std::string> models;                 // of the devices, each once: "NVIDIA A10, NVIDIA A100-SXM4-40GB"
  Reading<bool> profiling_for_administrators;  // hardware counters need CAP_SYS_ADMIN
};
Driver read_driver(const Host& host);

// What this process may do, and who watches it.
struct Rights {
  Reading<bool> administrator;   // CAP_SYS_ADMIN is in effect
  Reading<std::int64_t> tracer;  // the process that traces this one (a debugger, strace); 0: none
};
Rights read_rights(const Host& host);

struct Gpu {
  std::string name;
  std::string bus;
  Reading<std::int64_t> memory_bytes, memory_free_bytes;
  Reading<bool> mig;                       // cut into instances
  Reading<int> nvlinks;                    // active
  Reading<std::string> nvlink_version;     // "4.0"
  Reading<double> nvlink_gb_per_s;         // in each direction, over all active links; 10^9 bytes
  Reading<std::string> pcie;               // "gen 4 ×16 of gen 5 ×16"
  Reading<bool> pcie_narrow;               // fewer lanes than it could have
  Reading<int> clock_mhz, most_clock_mhz;  // of the multiprocessors
  Reading<std::string> slowed_by;          // "" when nothing does
  Reading<int> processes;                  // that compute on it
  Reading<bool> persistent;                // the driver keeps it initialised
  Reading<std::string> compute_mode;       // "default", "exclusive process", "prohibited"
  Reading<std::int64_t> memory_errors;     // that ECC could not correct, since the driver was loaded
  std::vector<int> peers;                  // devices that it reads directly (P2P)
  std::vector<std::string> paths;  // to each device: "NVLink", or what lies between on PCIe as in nvidia-smi topo -m
};

struct Nvml {
  Reading<std::vector<Gpu>> gpus;     // unknown: no library, or it refuses
  Reading<std::string> cuda_version;  // the newest that the driver runs
};

// Loads `library` at run time. Every fact that it does not give says why.
Nvml read_nvml(const std::string& library = "libnvidia-ml.so.1");

// Whether the CUDA driver's library can be loaded, as a worker would; unknown: why not.
Reading<bool> cuda_loads(const std::string& library = "libcuda.so.1");

}  // namespace ddpprof::host
