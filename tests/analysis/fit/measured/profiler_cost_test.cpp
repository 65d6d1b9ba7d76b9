// The profiler's cost is removed from the work of the host, and from nothing else.
#include "analysis/fit/measured/profiler_cost.hpp"

#include <gtest/gtest.h>

#include "analysis/fit/measured/pool.hpp"

namespace ddpprof::fit {
namespace {

constexpr std::int64_t ms = 1'000'000;

// A step of 20 ms on each of two ranks: data 2, forward 4, backward 10 with its last gradient after 6 and 4 ms of
// exposed communication, optimizer 2, other work 2.
StepInfo traced(std::int64_t rank, std::int64_t number) {
  StepInfo step;
  step.id = 100 * rank + number;
  step.rank = rank;
  step.step = number;
  step.start_ns = 1000 * ms * number;
  step.duration_ns = 20 * ms;
  step.data_ns = 2 * ms;
  step.forward_ns = 4 * ms;
  step.backward_ns = step.last_backward_ns = 10 * ms;
  step.optimizer_ns = 2 * ms;
  step.compute_ns = 12 * ms;
  step.overlapped_ns = 1 * ms;
  step.exposed_ns = 4 * ms;
  step.communication_ns = 5 * ms;
  step.backward_start_ns = 6 * ms;
  step.last_ready_ns = 12 * ms;
  return step;
}

StepInfo untraced(std::int64_t rank, std::int64_t number, std::int64_t duration_ns) {
  StepInfo step;
  step.id = 1000 + 100 * rank + number;
  step.rank = rank;
  step.step = number;
  step.duration_ns = duration_ns;
  step.untraced = true;
  return step;
}

std::vector<StepInfo> measured(std::int64_t untraced_ns) {
  std::vector<StepInfo> steps;
  for (const std::int64_t rank : {0, 1}) {
    for (std::int64_t number = 0; number < 5; ++number) steps.push_back(untraced(rank, number, untraced_ns));
    for (std::int64_t number = 10; number < 14; ++number) steps.push_back(traced(rank, number));
  }
  return steps;
}

// Without the profiler a step takes 13 ms: the 14 ms of work (20 - 4 exposed - 2 data) become 7.
TEST(ProfilerCost, WorkShrinksAndWaitsStay) {
  const std::vector<StepInfo> steps = measured(13 * ms);
  const ProfilerCost cost(steps);
  EXPECT_TRUE(cost.known());
  EXPECT_DOUBLE_EQ(cost.work_factor(), 0.5);
  const std::vector<StepInfo> without = cost.removed(steps);
  const StepInfo& step = without.back();
  EXPECT_EQ(step.duration_ns, 13 * ms);
  EXPECT_EQ(step.data_ns, 2 * ms);
  EXPECT_EQ(step.forward_ns, 2 * ms);
  EXPECT_EQ(step.backward_ns, 3 * ms + 4 * ms);
  EXPECT_EQ(step.optimizer_ns, 1 * ms);
  EXPECT_EQ(step.exposed_ns, 4 * ms);
  EXPECT_EQ(step.compute_ns, 6 * ms);
  EXPECT_EQ(step.backward_start_ns, 2 * ms + 2 * ms);
  EXPECT_EQ(step.last_ready_ns, 2 * ms + 2 * ms + 3 * ms);
  EXPECT_EQ(without.front().duration_ns, 13 * ms) << "steps without the profiler stay";
}

// Without the profiler a step takes 6 ms, as long as the waits of a step with it: one factor holds for all parts.
TEST(ProfilerCost, WaitsThatBecameLongerShrinkToo) {
  const std::vector<StepInfo> steps = measured(6 * ms);
  const ProfilerCost cost(steps);
  EXPECT_TRUE(cost.waits_longer());
  EXPECT_DOUBLE_EQ(cost.work_factor(), 0.3);
  const std::vector<StepInfo> without = cost.removed(steps);
  const StepInfo& step = without.back();
  EXPECT_EQ(step.duration_ns, 6 * ms);
  EXPECT_EQ(step.exposed_ns, 1'200'000);
  EXPECT_EQ(step.data_ns, 600'000);
  EXPECT_EQ(step.compute_ns, 3'600'000);
  EXPECT_FALSE(ProfilerCost(measured(13 * ms)).waits_longer());
}

TEST(ProfilerCost, CollectivesMoveWithTheirStep) {
  const std::vector<StepInfo> steps = measured(13 * ms);
  CollectiveInfo collective;
  collective.step_id = 10;  // rank 0's first traced step
  const std::int64_t begin_ns = 1000 * ms * 10;
  collective.ready_ns = begin_ns + 12 * ms;
  collective.launch_ns = begin_ns + 12 * ms;
  collective.start_ns = begin_ns + 12 * ms;
  collective.end_ns = begin_ns + 16 * ms;
  const CollectiveInfo moved = ProfilerCost(steps).removed(std::vector{collective}, steps).front();
  EXPECT_EQ(moved.ready_ns, begin_ns + 7 * ms);
  EXPECT_EQ(*moved.end_ns - *moved.start_ns, 4 * ms) << "its exposed transfer is as long as before";
}

TEST(ProfilerCost, NothingChangesWithoutStepsOfBothKinds) {
  std::vector<StepInfo> steps = measured(13 * ms);
  std::erase_if(steps, [](const StepInfo& step) { return step.untraced; });
  const ProfilerCost cost(steps);
  EXPECT_FALSE(cost.known());
  EXPECT_EQ(cost.removed(steps).front().forward_ns, 4 * ms);
}

TEST(ProfilerCost, ItsFactorIsBounded) {
  EXPECT_DOUBLE_EQ(ProfilerCost(measured(1 * ms)).work_factor(), 0.05) << "shorter than the waits";
  EXPECT_DOUBLE_EQ(ProfilerCost(measured(200 * ms)).work_factor(), 1.25);
}

TEST(ProfilerCost, AProfileHasTheStepTimesWithoutTheProfiler) {
  const std::vector<StepInfo> steps = measured(13 * ms);
  Pool pool;
  pool.profile.strategy = "ddp";
  pool.profile.machine.workers = 2;
  add_steps(pool, ProfilerCost(steps).removed(steps), {});
  const StepProfile profile = condense(pool);
  ASSERT_EQ(profile.step_s.size(), 5U);
  for (const double step_s : profile.step_s) EXPECT_DOUBLE_EQ(step_s, 0.013);
  EXPECT_DOUBLE_EQ(profile.forward_s, 0.002);
  EXPECT_DOUBLE_EQ(profile.backward_s, 0.003);
  EXPECT_DOUBLE_EQ(profile.optimizer_s, 0.001);
  const StepShares& shares = profile.shares;
  EXPECT_NEAR(shares.compute + shares.exposed + shares.skew + shares.other, 1.0, 1e-12);
  EXPECT_NEAR(shares.exposed * 0.013, 0.004, 1e-12);
}

}  // namespace
}  // namespace ddpprof::fit
