// NVML loaded at run time: calls functions by name and describes their results.
#pragma once

#include <dlfcn.h>

#include <string>

#include "runner/host/gpu.hpp"

namespace ddpprof::host {

using NvmlDevice = struct OpaqueDevice*;
inline constexpr int nvml_success = 0;

class NvmlLibrary {
 public:
  explicit NvmlLibrary(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      const char* error = dlerror();
      why_ = error != nullptr ? error : name + " cannot be loaded";
    }
  }
  ~NvmlLibrary() {
    if (started_) call<int()>("nvmlShutdown");
    if (handle_ != nullptr) dlclose(handle_);
  }
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  // Returns "" if NVML is initialised, otherwise the reason.
  std::string start() {
    if (handle_ == nullptr) return why_;
    const int result = call<int()>("nvmlInit_v2");
    if (result != nvml_success) return "nvmlInit: " + error(result);
    started_ = true;
    return "";
  }

  // Returns NVML's result, or -1 if the library has no such function.
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

// Calls a function that returns a whole number for a device.
inline Reading<int> nvml_number(const NvmlLibrary& nvml, const char* name, NvmlDevice device) {
  unsigned value = 0;
  const int result = nvml.call<int(NvmlDevice, unsigned*)>(name, device, &value);
  return result == nvml_success ? Reading<int>::of(static_cast<int>(value)) : nvml.unknown<int>(name, result);
}

// NVLink of one device, and the connection of each pair of devices (nvml_links.cpp).
void read_nvlink(const NvmlLibrary& nvml, NvmlDevice device, Gpu& gpu);
void read_pairs(const NvmlLibrary& nvml, const std::vector<NvmlDevice>& devices, std::vector<Gpu>& gpus);

}  // namespace ddpprof::host
