// NVML's C interface, as its manual describes it: the few functions that are used, loaded by name.
#include "runner/host/nvml_library.hpp"

namespace ddpprof::host {
namespace {

constexpr unsigned clock_of_multiprocessors = 1, shortest_buffer = 96;

struct MemoryInfo {
  unsigned long long total, free, used;
};
struct PciInfo {  // nvmlPciInfo_t, version 3
  char bus_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

Reading<int> clock(const NvmlLibrary& nvml, const char* name, NvmlDevice device) {
  unsigned value = 0;
  const int result = nvml.call<int(NvmlDevice, unsigned, unsigned*)>(name, device, clock_of_multiprocessors, &value);
  return result == nvml_success ? Reading<int>::of(static_cast<int>(value)) : nvml.unknown<int>(name, result);
}

void read_pcie(const NvmlLibrary& nvml, NvmlDevice device, Gpu& gpu) {
  const Reading<int> generation = nvml_number(nvml, "nvmlDeviceGetCurrPcieLinkGeneration", device);
  const Reading<int> width = nvml_number(nvml, "nvmlDeviceGetCurrPcieLinkWidth", device);
  const Reading<int> most_generation = nvml_number(nvml, "nvmlDeviceGetMaxPcieLinkGeneration", device);
  const Reading<int> most_width = nvml_number(nvml, "nvmlDeviceGetMaxPcieLinkWidth", device);
  gpu.pcie_narrow = Reading<bool>::unknown(width ? most_width.why : width.why);
  if (!generation || !width) {
    gpu.pcie = Reading<std::string>::unknown(generation ? width.why : generation.why);
    return;
  }
  std::string text = "gen " + std::to_string(*generation) + " ×" + std::to_string(*width);
  if (most_generation && most_width)
    text += " of gen " + std::to_string(*most_generation) + " ×" + std::to_string(*most_width);
  gpu.pcie = Reading<std::string>::of(text);
  if (most_width) gpu.pcie_narrow = Reading<bool>::of(*width < *most_width);
}

// nvmlClocksThrottleReason…: bits for a clock below the requested one, without idle (1) and a set clock (2).
Reading<std::string> slowed_by(const NvmlLibrary& nvml, NvmlDevice device) {
  unsigned long long reasons = 0;
  const char* name = "nvmlDeviceGetCurrentClocksThrottleReasons";
  const int result = nvml.call<int(NvmlDevice, unsigned long long*)>(name, device, &reasons);
  if (result != nvml_success) return nvml.unknown<std::string>(name, result);
  static constexpr struct {
    unsigned long long bit;
    const char* text;
  } known[] = {{0x4, "power cap"},          {0x8, "hardware slowdown"},  {0x10, "sync boost"},
               {0x20, "software: too hot"}, {0x40, "hardware: too hot"}, {0x80, "power brake"}};
  std::string text;
  for (const auto& reason : known)
    if ((reasons & reason.bit) != 0) text += (text.empty() ? "" : ", ") + std::string(reason.text);
  return Reading<std::string>::of(text);
}

Reading<bool> mig(const NvmlLibrary& nvml, NvmlDevice device) {
  unsigned current = 0, pending = 0;
  const char* name = "nvmlDeviceGetMigMode";
  const int result = nvml.call<int(NvmlDevice, unsigned*, unsigned*)>(name, device, &current, &pending);
  return result == nvml_success ? Reading<bool>::of(current != 0) : nvml.unknown<bool>(name, result);
}

Reading<int> processes(const NvmlLibrary& nvml, NvmlDevice device) {
  unsigned count = 0;  // called with size 0, the function returns the needed size
  const char* name = "nvmlDeviceGetComputeRunningProcesses_v3";
  constexpr int insufficient_size = 7;
  const int result = nvml.call<int(NvmlDevice, unsigned*, void*)>(name, device, &count, static_cast<void*>(nullptr));
  if (result != nvml_success && result != insufficient_size) return nvml.unknown<int>(name, result);
  return Reading<int>::of(static_cast<int>(count));
}

// nvmlComputeMode_t.
Reading<std::string> compute_mode(const NvmlLibrary& nvml, NvmlDevice device) {
  const Reading<int> mode = nvml_number(nvml, "nvmlDeviceGetComputeMode", device);
  if (!mode) return Reading<std::string>::unknown(mode.why);
  constexpr const char* words[] = {"default", "exclusive thread", "prohibited", "exclusive process"};
  return Reading<std::string>::of(*mode >= 0 && *mode < 4 ? words[*mode] : "mode " + std::to_string(*mode));
}

Reading<std::int64_t> memory_errors(const NvmlLibrary& nvml, NvmlDevice device) {
  constexpr unsigned uncorrected = 1, since_the_driver_was_loaded = 0;
  unsigned long long count = 0;
  const char* name = "nvmlDeviceGetTotalEccErrors";
  const int result = nvml.call<int(NvmlDevice, unsigned, unsigned, unsigned long long*)>(
      name, device, uncorrected, since_the_driver_was_loaded, &count);
  return result == nvml_success ? Reading<std::int64_t>::of(static_cast<std::int64_t>(count))
                                : nvml.unknown<std::int64_t>(name, result);
}

Gpu describe(const NvmlLibrary& nvml, NvmlDevice device) {
  Gpu gpu;
  char name[shortest_buffer] = "";
  const int named = nvml.call<int(NvmlDevice, char*, unsigned)>("nvmlDeviceGetName", device, name, shortest_buffer);
  gpu.name = named == nvml_success ? name : "name not readable (" + nvml.error(named) + ")";
  PciInfo bus{};
  if (nvml.call<int(NvmlDevice, PciInfo*)>("nvmlDeviceGetPciInfo_v3", device, &bus) == nvml_success)
    gpu.bus = bus.bus_id;
  MemoryInfo memory{};
  const int result = nvml.call<int(NvmlDevice, MemoryInfo*)>("nvmlDeviceGetMemoryInfo", device, &memory);
  if (result == nvml_success) {
    gpu.memory_bytes = Reading<std::int64_t>::of(static_cast<std::int64_t>(memory.total));
    gpu.memory_free_bytes = Reading<std::int64_t>::of(static_cast<std::int64_t>(memory.free));
  } else {
    gpu.memory_bytes = gpu.memory_free_bytes = nvml.unknown<std::int64_t>("nvmlDeviceGetMemoryInfo", result);
  }
  gpu.mig = mig(nvml, device);
  read_nvlink(nvml, device, gpu);
  read_pcie(nvml, device, gpu);
  gpu.clock_mhz = clock(nvml, "nvmlDeviceGetClockInfo", device);
  gpu.most_clock_mhz = clock(nvml, "nvmlDeviceGetMaxClockInfo", device);
  gpu.slowed_by = slowed_by(nvml, device);
  gpu.processes = processes(nvml, device);
  const Reading<int> persistent = nvml_number(nvml, "nvmlDeviceGetPersistenceMode", device);
  gpu.persistent = persistent ? Reading<bool>::of(*persistent != 0) : Reading<bool>::unknown(persistent.why);
  gpu.compute_mode = compute_mode(nvml, device);
  gpu.memory_errors = memory_errors(nvml, device);
  return gpu;
}

}  // namespace

Nvml read_nvml(const std::string& library) {
  Nvml found;
  NvmlLibrary nvml(library);
  if (const std::string why = nvml.start(); !why.empty()) {
    found.gpus = Reading<std::vector<Gpu>>::unknown(why);
    found.cuda_version = Reading<std::string>::unknown(why);
    return found;
  }
  int cuda = 0;
  const char* version_name = "nvmlSystemGetCudaDriverVersion_v2";
  const int versioned = nvml.call<int(int*)>(version_name, &cuda);
  found.cuda_version =
      versioned == nvml_success
          ? Reading<std::string>::of(std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10))
          : nvml.unknown<std::string>(version_name, versioned);
  unsigned count = 0;
  const int counted = nvml.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count);
  if (counted != nvml_success) {
    found.gpus = nvml.unknown<std::vector<Gpu>>("nvmlDeviceGetCount", counted);
    return found;
  }
  std::vector<NvmlDevice> devices;
  std::vector<Gpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    NvmlDevice device = nullptr;
    const int result = nvml.call<int(unsigned, NvmlDevice*)>("nvmlDeviceGetHandleByIndex_v2", index, &device);
    if (result != nvml_success) {
      found.gpus = nvml.unknown<std::vector<Gpu>>("nvmlDeviceGetHandleByIndex", result);
      return found;
    }
    devices.push_back(device);
    gpus.push_back(describe(nvml, device));
  }
  read_pairs(nvml, devices, gpus);
  found.gpus = Reading<std::vector<Gpu>>::of(std::move(gpus));
  return found;
}

}  // namespace ddpprof::host
