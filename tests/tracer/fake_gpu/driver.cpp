// A fake libcuda.so.1: it injects tools like NVIDIA's driver and reports launches to the fake CUPTI.
#include "tests/tracer/fake_gpu/driver.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {
const ddpprof::test::Hooks* hooks = nullptr;
}

extern "C" {

CUresult cuInit(unsigned) {
  static bool once = false;
  if (once) return CUDA_SUCCESS;
  once = true;
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return CUDA_SUCCESS;
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "fake driver: %s\n", dlerror());
    return CUDA_ERROR_UNKNOWN;
  }
  const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  return initialize != nullptr && initialize() == 1 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

CUresult cuDriverGetVersion(int* version) {
  const char* wanted = std::getenv("FAKE_DRIVER_VERSION");
  *version = wanted == nullptr ? 13000 : std::atoi(wanted);
  constexpr std::uint32_t get_version = 2;  // CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion
  if (hooks != nullptr) hooks->called(get_version);
  return CUDA_SUCCESS;
}

void fakeDriverHook(const ddpprof::test::Hooks* given) { hooks = given; }

void fakeDriverLaunch(const ddpprof::test::Launch* launch) {
  if (hooks != nullptr) hooks->launched(*launch);
}
}
