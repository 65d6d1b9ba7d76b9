// Parts of a recorded step do not overlap and add up to it.
#include "analysis/fit/measured/step_shares.hpp"

#include <gtest/gtest.h>

namespace ddpprof::fit {
namespace {

TEST(StepShares, OfOneStepDoNotOverlap) {
  struct Case {
    const char* what;
    bool ddp;
    bool several;
    std::int64_t compute, communication, exposed, skew, copy;  // tenths of the step
    StepShares expected;
  };
  for (const Case& c : {
           Case{"intervals", true, true, 6, 5, 2, 1, 0, {0.6, 0.1, 0.1, 0.0, 0.2, 0.1}},
           Case{"waiting is part of what is exposed", true, true, 6, 5, 1, 3, 0, {0.6, 0.0, 0.1, 0.0, 0.3, 0.1}},
           Case{"one rank exchanges nothing", true, false, 6, 1, 1, 0, 0, {0.6, 0.0, 0.0, 0.0, 0.4, 0.1}},
           Case{"DataParallel's copies", false, true, 6, 3, 3, 0, 3, {0.6, 0.3, 0.0, 0.0, 0.1, 0.1}},
           Case{"copies beside kernels count as compute", false, true, 6, 5, 3, 0, 5, {0.6, 0.3, 0.0, 0.0, 0.1, 0.1}},
           Case{"phases alone: copies inside of the passes are copies",
                false,
                true,
                0,
                0,
                0,
                0,
                4,
                {0.6, 0.4, 0, 0.0, 0, 0}},
           Case{"more was exposed than the step took", true, true, 6, 12, 12, 2, 0, {0.0, 0.8, 0.2, 0.0, 0.0, 0.0}},
       }) {
    StepInfo step;
    step.duration_ns = 10'000'000;
    step.forward_ns = step.backward_ns = 4'000'000;
    step.optimizer_ns = step.data_ns = 1'000'000;
    step.compute_ns = c.compute * 1'000'000;
    step.communication_ns = c.communication * 1'000'000;
    step.exposed_ns = c.exposed * 1'000'000;
    step.skew_ns = c.skew * 1'000'000;
    step.copy_ns = c.copy * 1'000'000;
    const StepShares shares = shares_of(step, c.ddp, c.several, exposed_wait_ns(step, {}));
    EXPECT_DOUBLE_EQ(shares.compute, c.expected.compute) << c.what;
    EXPECT_DOUBLE_EQ(shares.exposed, c.expected.exposed) << c.what;
    EXPECT_DOUBLE_EQ(shares.skew, c.expected.skew) << c.what;
    EXPECT_DOUBLE_EQ(shares.other, c.expected.other) << c.what;
    EXPECT_DOUBLE_EQ(shares.input, c.expected.input) << c.what;
    EXPECT_EQ(shares.host, 0.0) << c.what;
    EXPECT_DOUBLE_EQ(shares.compute + shares.exposed + shares.skew + shares.other, 1.0) << c.what;
  }
}

// A device that waits for launches: this time is taken from the rest of the step, never from another part.
TEST(StepShares, WaitsForLaunchesAreAPartOfTheirOwn) {
  StepInfo step;
  step.duration_ns = 100;
  step.compute_ns = 20;
  step.communication_ns = 12;
  step.exposed_ns = 10;
  step.skew_ns = 4;
  step.data_ns = 5;
  step.device_idle_ns = 60;
  const StepShares shares = shares_of(step, true, true, exposed_wait_ns(step, {}));
  EXPECT_DOUBLE_EQ(shares.compute, 0.2);
  EXPECT_DOUBLE_EQ(shares.exposed, 0.06);
  EXPECT_DOUBLE_EQ(shares.skew, 0.04);
  EXPECT_DOUBLE_EQ(shares.host, 0.6);
  EXPECT_DOUBLE_EQ(shares.other, 0.1);
  EXPECT_DOUBLE_EQ(shares.input, 0.05);
  step.device_idle_ns = 90;  // more than is left: clocks of host and device differ
  EXPECT_DOUBLE_EQ(shares_of(step, true, true, exposed_wait_ns(step, {})).host, 0.7);
  EXPECT_DOUBLE_EQ(shares_of(step, true, true, exposed_wait_ns(step, {})).other, 0.0);
}

// The forward begins 20 after the input, because the host is late: 15 of them without a kernel or a copy.
TEST(StepShares, WaitsBeforeTheForwardAreKnown) {
  StepInfo step;
  step.duration_ns = 100;
  step.data_ns = 5;
  step.forward_ns = 10;
  step.backward_start_ns = 35;
  step.backward_ns = step.last_backward_ns = 40;
  step.compute_ns = 60;
  step.device_idle_ns = 15;
  EXPECT_DOUBLE_EQ(shares_of(step, true, false, 0).idle_before, 0.15);
  step.device_idle_ns = 30;
  EXPECT_DOUBLE_EQ(shares_of(step, true, false, 0).idle_before, 0.2);
  step.device_idle_ns.reset();  // a CPU
  EXPECT_DOUBLE_EQ(shares_of(step, true, false, 0).idle_before, 0.0);
}

// Two buckets of 300 us, for which the other rank is late by 500 us and 1000 us. Compute hides all of the first
// collective and none of the second: 1000 us of waiting are exposed, and 300 us of transfer.
TEST(StepShares, HiddenWaitingIsNotTakenFromTheExposedTransfer) {
  StepInfo step;
  step.start_ns = 7000;
  step.duration_ns = 5'000;
  step.compute_ns = 3'000;
  step.communication_ns = 2'100;
  step.exposed_ns = 1'300;
  step.skew_ns = 1'500;
  step.last_ready_ns = 3'000;
  CollectiveInfo first, second;
  first.start_ns = 9'100;
  first.end_ns = 9'900;
  first.skew_ns = 500;
  second.start_ns = 10'000;
  second.end_ns = 11'300;
  second.skew_ns = 1'000;
  const std::vector<const CollectiveInfo*> collectives{&first, &second};
  EXPECT_EQ(exposed_wait_ns(step, collectives), 1'000);
  const StepShares shares = shares_of(step, true, true, 1'000);
  EXPECT_DOUBLE_EQ(shares.skew, 0.2);
  EXPECT_DOUBLE_EQ(shares.exposed, 0.06);
  // Between the kernels of the backward, waiting and transfer are exposed in the same proportion as they are hidden.
  step.last_ready_ns = 4'300;
  EXPECT_EQ(exposed_wait_ns(step, collectives), std::int64_t{1'300 * 1'500 / 2'100 + 1});
}

TEST(StepShares, TheirMeanIsAPartition) {
  const StepShares mean = mean_of({{0.5, 0.25, 0.25, 0.0, 0.0, 0.0}, {0.25, 0.25, 0.0, 0.0, 0.5, 0.25}});
  EXPECT_DOUBLE_EQ(mean.compute, 0.375);
  EXPECT_DOUBLE_EQ(mean.exposed, 0.25);
  EXPECT_DOUBLE_EQ(mean.skew, 0.125);
  EXPECT_DOUBLE_EQ(mean.other, 0.25);
  EXPECT_DOUBLE_EQ(mean.input, 0.125);
  EXPECT_DOUBLE_EQ(mean_of({}).compute, 0.0);
}

}  // namespace
}  // namespace ddpprof::fit
