// Kernels that the profiler lost: the host's launches show that they ran.
#include <gmock/gmock.h>

#include <functional>

#include "tests/analysis/import/cases/made_trace.hpp"
#include "tests/analysis/import/cases/measured_steps.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int steps = 6, computes = 1, reduces = 2;  // the kernels of a step

// Imports a trace without the kernels for which `lost` returns true.
Case without(const std::function<bool(int step, int kernel)>& lost) {
  MadeTrace made;
  made.steps = steps;
  TraceText trace = made.trace();
  for (int step = 0; step < steps; ++step)
    for (const int kernel : {computes, reduces})
      if (lost(step, kernel))
        std::erase_if(trace.events, [&](const std::string& event) {
          return event.find("\"cat\": \"kernel\"") != std::string::npos &&
                 event.find("\"correlation\": " + std::to_string(1000 + 10 * step + kernel)) != std::string::npos;
        });
  return import_text(trace.text());
}

void expect_whole(const std::vector<MeasuredStep>& measured) {
  for (const MeasuredStep& step : measured) {
    EXPECT_EQ(step.compute_ns, 1'000'000);
    EXPECT_EQ(step.exposed_ns, MadeTrace::exposed_ns);
  }
}

TEST(LostKernels, OfTheEnd) {
  const Case found = without([](int step, int kernel) { return step == 5 || (step == 4 && kernel == reduces); });
  ASSERT_EQ(found.imported.error, "");
  EXPECT_EQ(found.steps.size(), 4U);
  expect_whole(found.steps);
  EXPECT_THAT(found.message("kernels_lost"), HasSubstr("in 2 of 6 steps were not recorded"));
  EXPECT_FALSE(found.told("steps_without_work"));
}

// The step after a cut one does not count either: the work before it is missing, which gives its start.
TEST(LostKernels, OfTheStart) {
  const Case found = without([](int step, int kernel) { return step < 2 || (step == 2 && kernel == computes); });
  ASSERT_EQ(found.imported.error, "");
  EXPECT_EQ(found.steps.size(), 2U);
  expect_whole(found.steps);
  EXPECT_THAT(found.message("kernels_lost"), HasSubstr("in 3 of 6 steps"));
}

TEST(LostKernels, OfTheMiddle) {
  const Case found = without([](int step, int) { return step == 2; });
  ASSERT_EQ(found.imported.error, "");
  ASSERT_EQ(found.steps.size(), 4U);
  expect_whole(found.steps);
  EXPECT_EQ(found.steps.back().duration_ns, 4'000'000);
  EXPECT_THAT(found.message("kernels_lost"), HasSubstr("in 1 of 6 steps"));
}

// The device is not said to wait for the host at times at which lost kernels may have run.
TEST(LostKernels, OfAllSteps) {
  const Case found = without([](int step, int kernel) { return kernel == computes && step > 0; });
  const Case all = without([](int step, int kernel) { return kernel == (step % 2 == 0 ? computes : reduces); });
  EXPECT_EQ(found.steps.size(), 1U);
  ASSERT_EQ(all.imported.error, "");
  ASSERT_THAT(all.steps, testing::Not(IsEmpty()));
  for (const MeasuredStep& step : all.steps) EXPECT_EQ(step.device_idle_ns, std::nullopt);
  EXPECT_FALSE(all.told("device_idle"));
  EXPECT_THAT(all.message("kernels_lost"), HasSubstr("No step is whole"));
}

TEST(LostKernels, AreNone) {
  EXPECT_FALSE(without([](int, int) { return false; }).told("kernels_lost"));
  MadeTrace made;  // calls of the driver inside of those of the runtime launch no kernel of their own
  TraceText trace = made.trace();
  for (int step = 0; step < made.steps; ++step)
    trace.events.push_back(complete_event("cuda_driver", "cuLaunchKernel", std::to_string(made.at_us + 4000 * step + 21),
                                          "2", "100", "100", "\"correlation\": " + std::to_string(7000 + step)));
  EXPECT_FALSE(import_text(trace.text()).told("kernels_lost"));
}

}  // namespace
}  // namespace ddpprof::import
