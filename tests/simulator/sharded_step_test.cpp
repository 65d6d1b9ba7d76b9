// Closed forms of the steps of sharded trainings.
#include "simulator/strategy/sharded_step.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

namespace ddpprof::strategy {
namespace {

// The root has no parameters; three units of 1 s forward and 2 s backward.
ShardedStep three_units(double gather_s, double scatter_s, bool waits) {
  ShardedStep step;
  step.units.resize(4, {1.0, 2.0, gather_s, scatter_s, true});
  step.units[0] = {0.5, 0.5, 0.0, 0.0, false};
  step.optimizer_s = 0.25;
  step.waits = waits;
  return step;
}

constexpr double compute_s = 3 * 3.0 + 1.0 + 0.25;

TEST(ShardedStep, ARankThatWaitsAddsEachCollective) {
  const ShardedOutcome found = simulate(three_units(0.3, 0.7, true));
  EXPECT_DOUBLE_EQ(found.compute_s, compute_s);
  EXPECT_NEAR(found.communication_s, 6 * 0.3 + 3 * 0.7, 1e-12);
  EXPECT_NEAR(found.step_s, compute_s + found.communication_s, 1e-12);
}

TEST(ShardedStep, UnitsThatKeepTheirParametersAreGatheredOnce) {
  ShardedStep step = three_units(0.3, 0.7, true);
  for (ShardedUnit& unit : step.units) unit.gathers_again = false;
  EXPECT_NEAR(simulate(step).step_s, compute_s + 3 * 0.3 + 3 * 0.7, 1e-12);
}

TEST(ShardedStep, GradientsAreScatteredInTheLastMicroBatch) {
  ShardedStep step = three_units(0.3, 0.7, true);
  step.micro_batches = 4;
  const ShardedOutcome found = simulate(step);
  EXPECT_NEAR(found.communication_s, 4 * 6 * 0.3 + 3 * 0.7, 1e-12);
  EXPECT_NEAR(found.step_s, 4 * 10.0 + 0.25 + found.communication_s, 1e-12);
}

TEST(ShardedStep, GradientsAreScatteredInEachMicroBatch) {
  ShardedStep step = three_units(0.3, 0.7, true);
  step.micro_batches = 4;
  step.scatters_each_micro_batch = true;
  const ShardedOutcome found = simulate(step);
  EXPECT_NEAR(found.communication_s, 4 * (6 * 0.3 + 3 * 0.7), 1e-12);
  EXPECT_NEAR(found.step_s, 4 * 10.0 + 0.25 + found.communication_s, 1e-12);
}

// Nothing computes while the root's parameters are gathered again.
TEST(ShardedStep, TheRootIsGatheredAgainBeforeItsBackward) {
  ShardedStep step = three_units(0.0, 0.0, false);
  step.units[0].gather_s = 0.4;
  EXPECT_NEAR(simulate(step).exposed_s(), 0.4, 1e-12);
  step.units[0].gathers_again = true;
  EXPECT_NEAR(simulate(step).exposed_s(), 0.8, 1e-12);
  ShardedStep alone;
  alone.units = {{1.0, 2.0, 0.25, 0.5, true}};
  EXPECT_NEAR(simulate(alone).step_s, 3.0 + 2 * 0.25 + 0.5, 1e-12);
}

// Short collectives are hidden except for the first gather and the last scatter.
TEST(ShardedStep, ShortCollectivesAreHiddenByTheirNeighbours) {
  const ShardedOutcome found = simulate(three_units(0.3, 0.7, false));
  EXPECT_NEAR(found.exposed_s(), 0.3 + 0.7, 1e-12);
  EXPECT_NEAR(found.communication_s, 6 * 0.3 + 3 * 0.7, 1e-12);
}

// Long collectives run one after the other: the step is their sum and the compute outside of them.
TEST(ShardedStep, LongCollectivesBoundTheStep) {
  const ShardedOutcome found = simulate(three_units(10.0, 0.0, false));
  // After the third gather: its forward, the root's forward and backward; the gather for the first backward begins
  // after the second unit's forward at the earliest. The last gather is followed by its backward and the optimizer.
  EXPECT_GE(found.step_s, 6 * 10.0 + 2.0 + 0.25);
  EXPECT_LE(found.step_s, 6 * 10.0 + compute_s);
  EXPECT_LT(simulate(three_units(10.0, 0.0, false)).step_s, simulate(three_units(10.0, 0.0, true)).step_s);
}

TEST(ShardedStep, WithoutCommunicationItIsItsCompute) {
  for (const bool waits : {false, true}) {
    const ShardedOutcome found = simulate(three_units(0.0, 0.0, waits));
    EXPECT_DOUBLE_EQ(found.step_s, compute_s);
    EXPECT_EQ(found.communication_s, 0.0);
  }
}

TEST(ShardedStep, TheRootsParametersAreGatheredFirstAndScatteredLast) {
  ShardedStep step = three_units(0.0, 0.0, false);
  step.units[0].gather_s = 0.4;
  step.units[0].scatter_s = 0.6;
  EXPECT_NEAR(simulate(step).exposed_s(), 0.4 + 0.6, 1e-12);
}

// The activities are those of the simulated step: their sums are its totals, and none of a kind overlap.
TEST(ShardedStep, ActivitiesAddUpToTheStep) {
  for (const bool waits : {false, true}) {
    const ShardedStep step = three_units(0.3, 0.7, waits);
    const ShardedOutcome outcome = simulate(step);
    const std::vector<ShardedActivity> all = activities(step);
    ASSERT_EQ(all.size(), 8U + 6U + 3U) << "passes of four units, gathers, scatters";
    double computed_s = 0.0, communicated_s = 0.0, compute_end_s = 0.0, network_end_s = 0.0, begin_s = 0.0;
    for (const ShardedActivity& one : all) {
      EXPECT_GE(one.begin_s, begin_s) << "in order";
      begin_s = one.begin_s;
      const bool network = one.work == ShardedWork::gather || one.work == ShardedWork::scatter;
      (network ? communicated_s : computed_s) += one.end_s - one.begin_s;
      double& end_s = network ? network_end_s : compute_end_s;
      EXPECT_GE(one.begin_s, end_s - 1e-12);
      end_s = one.end_s;
    }
    EXPECT_NEAR(computed_s, outcome.compute_s - step.optimizer_s, 1e-12);
    EXPECT_NEAR(communicated_s, outcome.communication_s, 1e-12);
    EXPECT_NEAR(std::max(compute_end_s, network_end_s) + step.optimizer_s, outcome.step_s, 1e-12);
    EXPECT_EQ(all.front().work, ShardedWork::gather);
    EXPECT_EQ(all.front().unit, 1U);
  }
}

TEST(ShardedStep, InvalidStepsAreRefused) {
  EXPECT_THROW(simulate(ShardedStep{}), std::invalid_argument);
  ShardedStep step = three_units(0.1, 0.1, true);
  step.micro_batches = 0;
  EXPECT_THROW(simulate(step), std::invalid_argument);
  step = three_units(-0.1, 0.1, true);
  EXPECT_THROW(simulate(step), std::invalid_argument);
  step = three_units(std::numeric_limits<double>::infinity(), 0.1, true);
  EXPECT_THROW(simulate(step), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::strategy
