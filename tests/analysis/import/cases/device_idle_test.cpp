// The time in which the device waits for the host's launches, by closed forms of made traces.
#include <gmock/gmock.h>

#include "tests/analysis/import/cases/made_trace.hpp"
#include "tests/analysis/import/cases/measured_steps.hpp"

namespace ddpprof::import {
namespace {

// From the second step on, a step lasts 4000 us, from the end of one all-reduce to the end of the next. Kernels run in
// 1800 us of it.
constexpr std::int64_t us = 1000, idle_ns = 2200 * us;

std::string at_us(const MadeTrace& made, int step, int after_us) {
  return std::to_string(made.at_us + 4000 * step + after_us);
}

TEST(DeviceIdle, IsWhatNoKernelFills) {
  const Case found = import_text(MadeTrace{}.text());
  ASSERT_EQ(found.imported.error, "");
  ASSERT_EQ(found.steps.size(), 3U);
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(found.steps[i].duration_ns, 4000 * us);
    EXPECT_EQ(found.steps[i].device_idle_ns, idle_ns);
  }
}

TEST(DeviceIdle, CopiesAreNotIdle) {
  MadeTrace made;
  TraceText trace = made.trace();
  for (int step = 0; step < 3; ++step)  // 200 us beside no kernel, and 100 beside one
    for (const auto& [after_us, lasts] : {std::pair{2500, "200"}, {300, "100"}})
      trace.events.push_back(complete_event("gpu_memcpy", "Memcpy HtoD", at_us(made, step, after_us), lasts, "0", "30",
                                            R"("device": 0, "stream": 30, "bytes": 100)"));
  const Case found = import_text(trace.text());
  ASSERT_EQ(found.imported.error, "");
  ASSERT_EQ(found.steps.size(), 3U);
  EXPECT_EQ(found.steps[1].device_idle_ns, idle_ns - 200 * us);
}

TEST(DeviceIdle, WaitsForDataAreInput) {
  MadeTrace made;
  TraceText trace = made.trace();
  for (int step = 0; step < 3; ++step)  // 400 us while the device has no work, of which a copy fills 100
    trace.events.push_back(
        complete_event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                       at_us(made, step, 2500), "400", "100", "100", "\"External id\": " + std::to_string(900 + step)));
  for (int step = 0; step < 3; ++step)
    trace.events.push_back(complete_event("gpu_memcpy", "Memcpy HtoD", at_us(made, step, 2600), "100", "0", "30",
                                          R"("device": 0, "stream": 30, "bytes": 100)"));
  const Case found = import_text(trace.text());
  ASSERT_EQ(found.imported.error, "");
  ASSERT_EQ(found.steps.size(), 3U);
  EXPECT_EQ(found.steps[1].device_idle_ns, idle_ns - 400 * us);
}

TEST(DeviceIdle, AnotherStreamsKernelFillsIt) {
  MadeTrace made;
  TraceText trace = made.trace();
  for (int step = 0; step < 3; ++step)
    trace.events.push_back(
        complete_event("kernel", "long_one", at_us(made, step, 1000), "2000", "0", "9",
                       R"("device": 0, "stream": 9, "correlation": )" + std::to_string(5000 + step)));
  const Case found = import_text(trace.text());
  ASSERT_EQ(found.imported.error, "");
  ASSERT_EQ(found.steps.size(), 3U);
  // The step ends with that kernel, at 3000 us: idle from there to 100 us of the next step.
  EXPECT_EQ(found.steps[1].duration_ns, 4000 * us);
  EXPECT_EQ(found.steps[1].device_idle_ns, 1100 * us);
}

// The kernels of 100 us are launched every 5 us, and the device pauses for 10 us between them: its queue is full, and no
// launch is waited for. A step has 30 of them, and ends with an all-reduce that is launched 200 us before its start.
std::string host_far_ahead() {
  MadeTrace made;
  TraceText trace = made.trace();
  for (int step = 0; step < 3; ++step)
    for (int i = 0; i < 18; ++i) {
      const std::string correlation = "\"correlation\": " + std::to_string(6000 + 100 * step + i);
      trace.events.push_back(complete_event("cuda_runtime", "cudaLaunchKernel", at_us(made, step, 440 + 5 * i), "4", "100",
                                            "100", correlation));
      trace.events.push_back(complete_event("kernel", "elementwise", at_us(made, step, 1910 + 110 * i), "100", "0", "7",
                                            R"("device": 0, "stream": 7, )" + correlation));
    }
  return trace.text();
}

// The last kernel of a step ends at 3880 us. The first one of the next step is launched at 4020 us and starts at 4100 us.
TEST(DeviceIdle, PausesOfAFullQueueAreNotWaitsForTheHost) {
  const Case found = import_text(host_far_ahead());
  ASSERT_EQ(found.imported.error, "");
  ASSERT_EQ(found.steps.size(), 3U);
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(found.steps[i].duration_ns, 4000 * us);
    EXPECT_EQ(found.steps[i].device_idle_ns, 220 * us);
  }
}

// The host launches a kernel of 100 us every 108 us, 10 us before it starts and 2 us before the one before it ends.
TEST(DeviceIdle, WaitsForASlowHostStay) {
  MadeTrace made;
  TraceText trace = made.trace();
  for (int step = 0; step < 3; ++step)
    for (int i = 0; i < 10; ++i) {
      const std::string correlation = "\"correlation\": " + std::to_string(6000 + 100 * step + i);
      trace.events.push_back(complete_event("cuda_runtime", "cudaLaunchKernel", at_us(made, step, 1898 + 108 * i), "4",
                                            "100", "100", correlation));
      trace.events.push_back(complete_event("kernel", "elementwise", at_us(made, step, 1908 + 108 * i), "100", "0", "7",
                                            R"("device": 0, "stream": 7, )" + correlation));
    }
  const Case found = import_text(trace.text());
  ASSERT_EQ(found.imported.error, "");
  ASSERT_EQ(found.steps.size(), 3U);
  EXPECT_EQ(found.steps[1].device_idle_ns, idle_ns - 1000 * us);
}

// A thread of Gloo reduces tensors of the GPU from 900 to 2900 us: 200 us beside the kernel, and 1800 us exposed. The
// rest of the 3000 us without a kernel is idle.
TEST(DeviceIdle, CollectivesThatTheHostExecutesAreCommunication) {
  MadeTrace made;
  made.kernel = "elementwise_kernel";
  made.distributed = R"("distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2})";
  TraceText trace = made.trace();
  std::erase_if(trace.events,
                [](const std::string& event) { return event.find("elementwise_kernel") != std::string::npos; });
  for (std::string& event : trace.events)  // after the backward, which waits for the all-reduce
    if (event.find("Optimizer.step") != std::string::npos)
      for (int step = 0; step < 3; ++step)
        if (const std::string at = "\"ts\": " + at_us(made, step, 600); event.find(at) != std::string::npos)
          event = replaced(event, at, "\"ts\": " + at_us(made, step, 3000));
  for (int step = 0; step < 3; ++step)
    trace.events.push_back(complete_event("user_annotation", "gloo:all_reduce", at_us(made, step, 900), "2000", "100",
                                          "300", R"("Input Dims": [[65536]], "Input type": ["float"])"));
  const Case found = import_text(trace.text());
  ASSERT_EQ(found.imported.error, "");
  ASSERT_EQ(found.steps.size(), 3U);
  EXPECT_EQ(found.steps[1].communication_ns, 2000 * us);
  EXPECT_EQ(found.steps[1].overlapped_ns, 200 * us);
  EXPECT_EQ(found.steps[1].exposed_ns, 1800 * us);
  EXPECT_EQ(found.steps[1].device_idle_ns, 1200 * us);
}

TEST(DeviceIdle, IsUnknownWithoutComputeKernels) {
  MadeTrace made;
  made.compute_kernels = false;
  const Case found = import_text(made.text());
  ASSERT_EQ(found.imported.error, "");
  for (const MeasuredStep& step : found.steps) EXPECT_EQ(step.device_idle_ns, std::nullopt);
}

TEST(DeviceIdle, JobsOnCpusHaveNone) {
  const Case found = import_text(MadeGloo{}.text());
  ASSERT_EQ(found.imported.error, "");
  ASSERT_FALSE(found.steps.empty());
  for (const MeasuredStep& step : found.steps) EXPECT_EQ(step.device_idle_ns, std::nullopt);
}

}  // namespace
}  // namespace ddpprof::import
