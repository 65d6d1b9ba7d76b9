// NVML's C interface as its manual describes it: the few functions asked here, looked up by name.
#include <dlfcn.h>

#include <memory>

#include "runner/host/gpu.hpp"

namespace ddpprof::host {
namespace {

using Device = struct OpaqueDevice*;
constexpr int success = 0;
constexpr unsigned clock_of_multiprocessors = 1, p2p_read = 0, most_links = 18, shortest_buffer = 96;

struct MemoryInfo {
  unsigned long long total, free, used;
};
struct PciInfo {  // nvmlPciInfo_t, version 3
  char bus_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

class Library {
 public:
  explicit Library(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      const char* error = dlerror();
      why_ = error != nullptr ? error : name + " cannot be loaded";
    }
  }
  ~Library() {
    if (started_) call<int()>("nvmlShutdown");
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // "" once NVML is ready.
  std::string start() {
    if (handle_ == nullptr) return why_;
    const int result = call<int()>("nvmlInit_v2");
    if (result != success) return "nvmlInit: " + error(result);
    started_ = true;
    return "";
  }

  // -1 where the library has no such function, else NVML's result.
  template <class Function, class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    void* found = dlsym(handle_, name);
    return found == nullptr ? -1 : reinterpret_cast<Function*>(found)(arguments...);
  }

  std::string error(int result) const {
    if (result == -1) return "this NVML has no such function";
    void* found = dlsym(handle_, "nvmlErrorString");
    return found == nullptr ? "error " + std::to_string(result) : reinterpret_cast<const char* (*)(int)>(found)(result);
  }

  template <class T>
  Reading<T> unknown(const char* name, int result) const {
    return Reading<T>::unknown(std::string(name) + ": " + error(result));
  }

 private:
  void* handle_;
  std::string why_;
  bool started_ = false;
};

Reading<int> number(const Library& nvml, const char* name, Device device) {
  unsigned value = 0;
  const int result = nvml.call<int(Device, unsigned*)>(name, device, &value);
  return result == success ? Reading<int>::of(static_cast<int>(value)) : nvml.unknown<int>(name, result);
}

Reading<int> clock(const Library& nvml, const char* name, Device device) {
  unsigned value = 0;
  const int result = nvml.call<int(Device, unsigned, unsigned*)>(name, device, clock_of_multiprocessors, &value);
  return result == success ? Reading<int>::of(static_cast<int>(value)) : nvml.unknown<int>(name, result);
}

Reading<std::string> pcie(const Library& nvml, Device device) {
  const Reading<int> generation = number(nvml, "nvmlDeviceGetCurrPcieLinkGeneration", device);
  const Reading<int> width = number(nvml, "nvmlDeviceGetCurrPcieLinkWidth", device);
  const Reading<int> most_generation = number(nvml, "nvmlDeviceGetMaxPcieLinkGeneration", device);
  const Reading<int> most_width = number(nvml, "nvmlDeviceGetMaxPcieLinkWidth", device);
  if (!generation || !width) return Reading<std::string>::unknown(generation ? width.why : generation.why);
  std::string text = "gen " + std::to_string(*generation) + " ×" + std::to_string(*width);
  if (most_generation && most_width)
    text += " of gen " + std::to_string(*most_generation) + " ×" + std::to_string(*most_width);
  return Reading<std::string>::of(text);
}

// nvmlClocksThrottleReason…: bits that mean a slower clock than asked for, but for idleness (1) and a set clock (2).
Reading<std::string> slowed_by(const Library& nvml, Device device) {
  unsigned long long reasons = 0;
  const char* name = "nvmlDeviceGetCurrentClocksThrottleReasons";
  const int result = nvml.call<int(Device, unsigned long long*)>(name, device, &reasons);
  if (result != success) return nvml.unknown<std::string>(name, result);
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

Reading<int> nvlinks(const Library& nvml, Device device) {
  int active = 0;
  for (unsigned link = 0; link < most_links; ++link) {
    unsigned state = 0;
    const int result = nvml.call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState", device, link, &state);
    if (result != success) {
      if (link == 0) return nvml.unknown<int>("nvmlDeviceGetNvLinkState", result);
      break;  // this device has no more links
    }
    active += state != 0 ? 1 : 0;
  }
  return Reading<int>::of(active);
}

Reading<bool> mig(const Library& nvml, Device device) {
  unsigned current = 0, pending = 0;
  const char* name = "nvmlDeviceGetMigMode";
  const int result = nvml.call<int(Device, unsigned*, unsigned*)>(name, device, &current, &pending);
  return result == success ? Reading<bool>::of(current != 0) : nvml.unknown<bool>(name, result);
}

Reading<int> processes(const Library& nvml, Device device) {
  unsigned count = 0;  // with no room given the answer is how much would be needed
  const char* name = "nvmlDeviceGetComputeRunningProcesses_v3";
  constexpr int insufficient_size = 7;
  const int result = nvml.call<int(Device, unsigned*, void*)>(name, device, &count, static_cast<void*>(nullptr));
  if (result != success && result != insufficient_size) return nvml.unknown<int>(name, result);
  return Reading<int>::of(static_cast<int>(count));
}

Gpu describe(const Library& nvml, Device device) {
  Gpu gpu;
  char name[shortest_buffer] = "";
  const int named = nvml.call<int(Device, char*, unsigned)>("nvmlDeviceGetName", device, name, shortest_buffer);
  gpu.name = named == success ? name : "name not readable (" + nvml.error(named) + ")";
  PciInfo bus{};
  if (nvml.call<int(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3", device, &bus) == success) gpu.bus = bus.bus_id;
  MemoryInfo memory{};
  const int result = nvml.call<int(Device, MemoryInfo*)>("nvmlDeviceGetMemoryInfo", device, &memory);
  if (result == success) {
    gpu.memory_bytes = Reading<std::int64_t>::of(static_cast<std::int64_t>(memory.total));
    gpu.memory_free_bytes = Reading<std::int64_t>::of(static_cast<std::int64_t>(memory.free));
  } else {
    gpu.memory_bytes = gpu.memory_free_bytes = nvml.unknown<std::int64_t>("nvmlDeviceGetMemoryInfo", result);
  }
  gpu.mig = mig(nvml, device);
  gpu.nvlinks = nvlinks(nvml, device);
  gpu.pcie = pcie(nvml, device);
  gpu.clock_mhz = clock(nvml, "nvmlDeviceGetClockInfo", device);
  gpu.most_clock_mhz = clock(nvml, "nvmlDeviceGetMaxClockInfo", device);
  gpu.slowed_by = slowed_by(nvml, device);
  gpu.processes = processes(nvml, device);
  return gpu;
}

}  // namespace

Nvml read_nvml(const std::string& library) {
  Nvml found;
  Library nvml(library);
  if (const std::string why = nvml.start(); !why.empty()) {
    found.gpus = Reading<std::vector<Gpu>>::unknown(why);
    found.cuda_version = Reading<std::string>::unknown(why);
    return found;
  }
  int cuda = 0;
  const char* version_name = "nvmlSystemGetCudaDriverVersion_v2";
  const int versioned = nvml.call<int(int*)>(version_name, &cuda);
  found.cuda_version =
      versioned == success
          ? Reading<std::string>::of(std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10))
          : nvml.unknown<std::string>(version_name, versioned);
  unsigned count = 0;
  const int counted = nvml.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count);
  if (counted != success) {
    found.gpus = nvml.unknown<std::vector<Gpu>>("nvmlDeviceGetCount", counted);
    return found;
  }
  std::vector<Device> devices;
  std::vector<Gpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    const int result = nvml.call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", index, &device);
    if (result != success) {
      found.gpus = nvml.unknown<std::vector<Gpu>>("nvmlDeviceGetHandleByIndex", result);
      return found;
    }
    devices.push_back(device);
    gpus.push_back(describe(nvml, device));
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < devices.size(); ++j) {
      int status = -1;  // 0: the pair can
      if (i != j &&
          nvml.call<int(Device, Device, unsigned, int*)>("nvmlDeviceGetP2PStatus", devices[i], devices[j], p2p_read,
                                                         &status) == success &&
          status == 0)
        gpus[i].peers.push_back(static_cast<int>(j));
    }
  }
  found.gpus = Reading<std::vector<Gpu>>::of(std::move(gpus));
  return found;
}

}  // namespace ddpprof::host
