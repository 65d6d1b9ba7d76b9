// A training on the fake driver: steps in NVTX ranges with kernels, and a way of ending set by the mode.
#include <cupti.h>
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <nvtx3/nvToolsExt.h>
#include "tests/tracer/fake_gpu/driver.hpp"

namespace {

constexpr int kernels_a_step = 10;
constexpr std::uint32_t cuda_get_device = 17, cuda_launch_kernel = 211,
                        cuda_graph_launch = 311;  // CUPTI_RUNTIME_TRACE_CBID_…

decltype(fakeDriverLaunch)* launch_on_driver = nullptr;
std::uint32_t correlation = 0;

void launch(const char* name, std::uint32_t device = 0, std::uint32_t context = 1, std::uint32_t stream = 7) {
  const ddpprof::test::Launch launch{name, device, context, stream, ++correlation, 0, cuda_launch_kernel};
  launch_on_driver(&launch);
}

// Two kernels of one launch, distinguished only by their nodes.
void launch_graph() {
  ++correlation;
  const std::array<ddpprof::test::Launch, 2> nodes = {
      {{"gemm", 0, 1, 7, correlation, 101, cuda_graph_launch},
       {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", 0, 1, 8, correlation, 102, 0}}};
  for (const auto& node : nodes) launch_on_driver(&node);
}

void step(int number, const std::string& mode, useconds_t lasts_us = 2000) {
  nvtxRangePushA(("step " + std::to_string(number)).c_str());
  for (int k = 0; k < kernels_a_step; ++k) {
    if (mode == "devices")
      launch("gemm", static_cast<std::uint32_t>(k % 2), static_cast<std::uint32_t>(1 + k % 3));
    else
      launch("gemm");
  }
  if (mode == "graph") launch_graph();
  if (mode == "queries") {
    const ddpprof::test::Launch query{nullptr, 0, 1, 0, ++correlation, 0, cuda_get_device};
    launch_on_driver(&query);
  }
  usleep(lasts_us);
  nvtxRangePop();
}

// Like torch.profiler: registers its callbacks, enables its kinds, and, if it `stops`, disables all kinds at its end.
std::uint8_t profilers_buffer[1 << 20];
void profiler_request(std::uint8_t** buffer, std::size_t* size, std::size_t*) {
  *buffer = profilers_buffer, *size = sizeof profilers_buffer;
}
bool profiler_destroyed = false;
void profiler_complete(CUcontext, std::uint32_t, std::uint8_t*, std::size_t, std::size_t) {
  if (profiler_destroyed) std::abort();  // as if it used a destroyed object
}
template <typename Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}
void destroy_profiler() { profiler_destroyed = true; }
bool profile_some_steps(bool stops) {
  void* cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (cupti == nullptr) return false;
  find<decltype(cuptiActivityRegisterCallbacks)>(cupti, "cuptiActivityRegisterCallbacks")(profiler_request,
                                                                                          profiler_complete);
  find<decltype(cuptiActivityEnable)>(cupti, "cuptiActivityEnable")(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  for (int i = 100; i < 103; ++i) step(i, "");
  if (!stops) return true;
  find<decltype(cuptiActivityFlushAll)>(cupti, "cuptiActivityFlushAll")(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  find<decltype(cuptiActivityDisable)>(cupti, "cuptiActivityDisable")(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  find<decltype(cuptiActivityDisable)>(cupti, "cuptiActivityDisable")(CUPTI_ACTIVITY_KIND_DRIVER);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  launch_on_driver = reinterpret_cast<decltype(fakeDriverLaunch)*>(dlsym(driver, "fakeDriverLaunch"));
  const auto initialize = reinterpret_cast<decltype(cuInit)*>(dlsym(driver, "cuInit"));
  if (launch_on_driver == nullptr || initialize(0) != CUDA_SUCCESS) return 3;
  if (mode == "early_profiler" || mode == "early_short_profiler") {  // before the tracer's first flush
    if (mode == "early_short_profiler") std::atexit(destroy_profiler);
    if (!profile_some_steps(false)) return 4;
    if (mode == "early_short_profiler") usleep(600'000);
  }
  if (mode == "many") {
    const int kernels = std::atoi(std::getenv("FAKE_KERNELS"));
    nvtxRangePushA("step 0");
    for (int i = 0; i < kernels; ++i) launch("gemm");
    nvtxRangePop();
    return 0;
  }
  for (int i = 0; i < 5; ++i) step(i, mode);
  const bool late = mode == "late_profiler", destroyed = mode == "destroyed_profiler";
  if (mode == "profiler" || destroyed || late) {
    usleep(1'300'000);                        // time for some heartbeats of the tracer
    if (late) std::atexit(destroy_profiler);  // like a static object that is constructed at the profiler's start
    if (!profile_some_steps(mode == "profiler")) return 4;
    for (int i = 5; i < 10; ++i) step(i, mode);
  }
  // Longer than the period of the tracer's flushes, shorter than the time after which CUPTI is left to the profiler.
  if (late) usleep(600'000);
  if (destroyed || mode == "early_profiler") {  // all records, heartbeats included, go to the profiler's buffer
    usleep(4'000'000);                          // eight flushes that CUPTI does not answer need two seconds
    std::atexit(destroy_profiler);              // the last handler that is registered is the first that runs
  }
  if (mode == "_exit" || mode == "abort" || mode == "kill") {
    usleep(2'300'000);  // longer than the period after which the tracer flushes CUPTI
    for (int i = 5; i < 10; ++i) step(i, mode);
  }
  if (mode == "_exit") _exit(0);
  if (mode == "abort") std::abort();
  if (mode == "kill") kill(getpid(), SIGKILL);
  if (mode == "quick_exit") std::quick_exit(0);
  std::printf("the job ends\n");
  return 0;
}
