// Parts of recorded steps whose step time was measured without the profiler.
#include <gtest/gtest.h>

#include "analysis/metrics/measured.hpp"

namespace ddpprof::metrics {
namespace {

RunStep traced(std::int64_t number) {
  RunStep step;
  step.measurement = 1;
  step.step = number;
  step.kind = "measured";
  step.duration_s = 0.020;
  step.data_wait_s = 0.002;
  step.forward_s = 0.004;
  step.backward_s = 0.010;
  step.optimizer_s = 0.002;
  step.compute_s = 0.012;
  step.overlapped_s = 0.001;
  step.exposed_s = 0.004;
  step.exposed_wait_s = 0.001;
  step.communication_s = 0.005;
  return step;
}

Configuration recorded(double untraced_s) {
  Configuration one;
  for (std::int64_t number = 10; number < 14; ++number) one.measured.push_back(traced(number));
  for (std::int64_t number = 0; number < 5; ++number) {
    RunStep step;
    step.measurement = 1;
    step.step = number;
    step.kind = "untraced";
    step.duration_s = untraced_s;
    one.untraced.push_back(step);
  }
  one.unprofiled = without_profiler(one);
  return one;
}

// Without the profiler a step takes 13 ms: the 14 ms of work (20 - 4 exposed - 2 data) become 7.
TEST(WithoutProfiler, PartsAreOfTheStepThatIsShown) {
  const Configuration one = recorded(0.013);
  ASSERT_EQ(one.parts().size(), 4U);
  for (const RunStep& step : one.parts()) {
    EXPECT_NEAR(step.duration_s, 0.013, 1e-9);
    EXPECT_NEAR(step.compute_s, 0.006, 1e-9);
    EXPECT_NEAR(step.forward_s, 0.002, 1e-9);
    EXPECT_NEAR(step.backward_s, 0.003 + 0.004, 1e-9);
    EXPECT_NEAR(step.exposed_s, 0.004, 1e-9) << "communication does not contain the profiler's work";
    EXPECT_NEAR(step.exposed_wait_s, 0.001, 1e-9);
    EXPECT_NEAR(step.data_wait_s, 0.002, 1e-9);
    EXPECT_LE(step.compute_s + step.exposed_s + step.data_wait_s, step.duration_s);
  }
  EXPECT_EQ(median_of(one.timed(), &RunStep::duration_s).mid, 0.013);
}

// A step without the profiler that is as long as the waits of a step with it: all parts shrink alike.
TEST(WithoutProfiler, WaitsThatBecameLongerShrinkToo) {
  const RunStep step = recorded(0.006).parts().front();
  EXPECT_NEAR(step.exposed_s, 0.0012, 1e-9);
  EXPECT_NEAR(step.exposed_wait_s, 0.0003, 1e-9);
  EXPECT_NEAR(step.compute_s, 0.0036, 1e-9);
}

TEST(WithoutProfiler, WithoutUntracedStepsPartsAreTheMeasuredSteps) {
  Configuration one = recorded(0.013);
  one.untraced.clear();
  EXPECT_EQ(&one.parts(), &one.measured);
}

}  // namespace
}  // namespace ddpprof::metrics
