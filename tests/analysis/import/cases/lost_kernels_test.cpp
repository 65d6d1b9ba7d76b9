// Kernels that the profiler lost: the host's launches show that they ran. They are reported, and no number changes.
#include <gmock/gmock.h>

#include <functional>

#include "tests/analysis/import/cases/made_trace.hpp"
#include "tests/analysis/import/cases/measured_steps.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;

constexpr int lossy_steps = 6, short_kernels = 18;  // and two further kernels a step

// The trace of made_trace.hpp with 18 further kernels in each step, without the kernels for which `lost` returns true:
// 0 to 17 are the further ones, 18 computes, 19 reduces.
std::string without(const std::function<bool(int step, int kernel)>& lost) {
  MadeTrace made;
  made.steps = lossy_steps;
  TraceText trace = made.trace();
  for (int step = 0; step < lossy_steps; ++step) {
    const auto at = [&](int us) { return std::to_string(made.at_us + 4000 * step + us); };
    for (int i = 0; i < short_kernels; ++i) {
      const std::string correlation = "\"correlation\": " + std::to_string(6000 + 100 * step + i);
      trace.events.push_back(
          complete_event("cuda_runtime", "cudaLaunchKernel", at(440 + 5 * i), "4", "100", "100", correlation));
      if (!lost(step, i))
        trace.events.push_back(complete_event("kernel", "elementwise", at(2000 + 10 * i), "10", "0", "7",
                                              R"("device": 0, "stream": 7, )" + correlation));
    }
    for (const int which : {1, 2})
      if (lost(step, short_kernels + which - 1))
        std::erase_if(trace.events, [&](const std::string& event) {
          return event.find(R"("cat": "kernel")") != std::string::npos &&
                 event.find("\"correlation\": " + std::to_string(1000 + 10 * step + which)) != std::string::npos;
        });
  }
  return trace.text();
}

std::string message_without(const std::function<bool(int step, int kernel)>& lost) {
  const Case found = import_text(without(lost));
  EXPECT_EQ(found.imported.error, "");
  return found.message("kernels_lost");
}

TEST(LostKernels, OfTheEndAreReported) {
  const Case found = import_text(without([](int step, int kernel) { return step == 5 || (step == 4 && kernel >= 8); }));
  ASSERT_EQ(found.imported.error, "");
  EXPECT_THAT(found.message("kernels_lost"), HasSubstr("32 of the 120 kernels"));
  EXPECT_THAT(found.message("kernels_lost"), HasSubstr("(27 %), in 2 of 6 steps, 1 of them without any"));
  EXPECT_EQ(found.imported.told.find("kernels_lost")->second.count, 32);
  EXPECT_EQ(found.steps.size(), 5U) << "only the step without work is left out, as before";
}

TEST(LostKernels, OfTheMiddleAreReported) {
  const std::string message = message_without([](int step, int kernel) { return (7 * step + kernel) % 10 == 0; });
  EXPECT_THAT(message, HasSubstr("12 of the 120 kernels"));
  EXPECT_THAT(message, HasSubstr("in 6 of 6 steps: "));
  EXPECT_THAT(message_without([](int step, int) { return step == 3; }), HasSubstr("1 of them without any"));
}

TEST(LostKernels, AreNoneOrFew) {
  EXPECT_EQ(message_without([](int, int) { return false; }), "");
  EXPECT_EQ(message_without([](int step, int kernel) { return step == 2 && kernel == 3; }), "") << "an invalid event";
}

// A call of the driver inside a call of the runtime is the same launch: it has no kernel of its own.
TEST(LostKernels, InnerCallsHaveNone) {
  MadeTrace made;
  TraceText trace = made.trace();
  for (int step = 0; step < made.steps; ++step)
    trace.events.push_back(complete_event("cuda_driver", "cuLaunchKernel",
                                          std::to_string(made.at_us + 4000 * step + 21), "2", "100", "100",
                                          "\"correlation\": " + std::to_string(7000 + step)));
  EXPECT_FALSE(import_text(trace.text()).told("kernels_lost"));
}

TEST(LostKernels, WithoutDevicesAreNotReported) {
  MadeTrace made;
  made.kernels = false;
  EXPECT_FALSE(import_text(made.text()).told("kernels_lost"));
}

}  // namespace
}  // namespace ddpprof::import
