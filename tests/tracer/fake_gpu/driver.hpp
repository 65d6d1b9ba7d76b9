// The interface between the fake driver, the fake CUPTI and the programs of these tests.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace ddpprof::test {

struct Launch {      // one kernel, possibly of a graph
  const char* name;  // nullptr: a call that launches nothing
  std::uint32_t device, context, stream, correlation;
  std::uint64_t graph_node;
  std::uint32_t cbid;  // of the driver's call; 0: no call is recorded
};

// The hooks with which CUPTI observes the driver.
struct Hooks {
  void (*launched)(const Launch&);
  void (*called)(std::uint32_t cbid);  // a call without a launch
};

}  // namespace ddpprof::test

// cuInit loads the library in CUDA_INJECTION64_PATH like NVIDIA's driver, and calls InitializeInjection.
// cuDriverGetVersion returns FAKE_DRIVER_VERSION, or 13000 if that is unset.
extern "C" {
void fakeDriverHook(const ddpprof::test::Hooks* hooks);
void fakeDriverLaunch(const ddpprof::test::Launch* launch);
}
