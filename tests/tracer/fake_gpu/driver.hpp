// What the fake driver and the fake CUPTI of these tests say to each other, and what a program asks of them.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace ddpprof::test {

struct Launch {  // one kernel, or one of a graph's
  const char* name;
  std::uint32_t device, context, stream, correlation;
  std::uint64_t graph_node;
  std::uint32_t cbid;  // of the driver's call; 0: none is recorded beside it
};

// CUPTI's hooks into the driver.
struct Hooks {
  void (*launched)(const Launch&);
  void (*called)(std::uint32_t cbid);  // a call that launches nothing
};

}  // namespace ddpprof::test

// cuInit loads what CUDA_INJECTION64_PATH names, as NVIDIA's does, and calls InitializeInjection; cuDriverGetVersion
// answers FAKE_DRIVER_VERSION, 13000 if unset.
extern "C" {
void fakeDriverHook(const ddpprof::test::Hooks* hooks);
void fakeDriverLaunch(const ddpprof::test::Launch* launch);
}
