// A host that runs far ahead of its device: the recording lasts as long as the steps, not as the host's events.
#include <gmock/gmock.h>

#include "tests/analysis/import/cases/measured_steps.hpp"
#include "tests/analysis/import/kineto/trace_text.hpp"

namespace ddpprof::import {
namespace {

// The host needs 100 us for each of 4 steps, the device 5000 us. Its first kernel starts at 50 us.
std::string four_steps() {
  TraceText trace;
  trace.before = {R"("deviceProperties": [{"id": 0, "name": "NVIDIA A100"}])",
                  R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1})"};
  for (int step = 0; step < 4; ++step) {
    const auto at = [&](int us) { return std::to_string(1'000'000 + us); };
    const std::string correlation = "\"correlation\": " + std::to_string(10 + step);
    trace.events.push_back(complete_event("user_annotation", "ProfilerStep#" + std::to_string(step), at(100 * step),
                                          "100", "100", "100"));
    trace.events.push_back(
        complete_event("cuda_runtime", "cudaLaunchKernel", at(100 * step + 40), "5", "100", "100", correlation));
    trace.events.push_back(complete_event("kernel", "sgemm", at(50 + 5000 * step), "5000", "0", "7",
                                          R"("device": 0, "stream": 7, )" + correlation));
  }
  return trace.text();
}

TEST(HostAhead, TheRecordingIsAsLongAsItsSteps) {
  const Case found = import_text(four_steps());
  ASSERT_EQ(found.imported.error, "");
  ASSERT_EQ(found.steps.size(), 4U);
  std::int64_t steps_ns = 0;
  for (const MeasuredStep& step : found.steps) steps_ns += step.duration_ns;
  EXPECT_GE(steps_ns, 20'000'000);
  EXPECT_EQ(found.wall_ns, steps_ns);
}

}  // namespace
}  // namespace ddpprof::import
