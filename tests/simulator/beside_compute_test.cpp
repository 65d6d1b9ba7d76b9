// Collectives that run slower beside compute: what each takes follows from how much of it the backward overlaps.
#include <gtest/gtest.h>

#include "simulator/step/ddp_step.hpp"
#include "tests/simulator/reference/ddp_ranks.hpp"

namespace ddpprof::step {
namespace {

DdpStep one_bucket(double ready_s, double beside_s) {
  DdpStep step;
  step.backward_s = 1.0;
  step.buckets = {{ready_s, {0.1, 0.3, 0.0}, 0.0, beside_s}};
  return step;
}

TEST(BesideCompute, ACollectiveAfterTheBackwardTakesItsTimeAlone) {
  EXPECT_DOUBLE_EQ(simulate(one_bucket(1.0, 5.0)).step_s, 1.4);
}

TEST(BesideCompute, WhollyBesideItTakesAllOfTheExtra) {
  const DdpResult result = simulate(one_bucket(0.0, 0.5));
  EXPECT_DOUBLE_EQ(result.buckets[0].end_s, 0.9);
  EXPECT_DOUBLE_EQ(result.step_s, 1.0);
}

// From 0.8 on: 0.2 s of compute at half the pace do 0.1 of 0.4, the other 0.3 follow at full pace.
TEST(BesideCompute, WhatTheBackwardOverlapsPassesAtItsPace) {
  EXPECT_DOUBLE_EQ(simulate(one_bucket(0.8, 0.4)).step_s, 1.3);
}

// Both in flight share the link and are slowed: 0.2 s beside compute at half the pace leave 0.1 of the latency done.
TEST(BesideCompute, SharingTheLinkAndBeingSlowedMultiply) {
  DdpStep step = one_bucket(0.6, 0.4);
  step.lanes = 2;
  step.buckets.push_back(step.buckets[0]);
  // 0.4 s at half pace: 0.1 latency in 0.2 s, then 0.2 s · 1/2 · 1/2 = 0.05 of 0.3 each; 0.25 left each, shared: 0.5 s.
  EXPECT_NEAR(simulate(step).step_s, 1.5, 1e-12);
}

// Rank 1 takes twice as long: its backward ends at 2. The bucket is reduced from 1.6 on; until 2 at half the pace.
TEST(BesideCompute, OfRanksThatDifferTheLastToComputeHoldsUpTheCollective) {
  const DdpStep step = one_bucket(0.8, 0.4);
  const DdpRanksResult late = simulate(step, {{1.0, 2.0}, {}});
  EXPECT_DOUBLE_EQ(late.buckets[0].start_s, 1.6);
  EXPECT_DOUBLE_EQ(late.buckets[0].end_s, 1.6 + 0.4 + 0.2);
  DdpStep alone = step;
  alone.buckets[0].beside_compute_s = 0.0;
  EXPECT_DOUBLE_EQ(simulate(alone, {{1.0, 2.0}, {}}).buckets[0].end_s, 2.0);
}

// A delay at the end of one rank's backward goes on for 0.5 after the others': all of it beside the collective.
TEST(BesideCompute, ADelayOfOneRankLastsAsItsCompute) {
  DdpStep step = one_bucket(1.0, 0.4);
  // Reduced from 1 on: 0.5 at half the pace do 0.25 of 0.4.
  EXPECT_DOUBLE_EQ(simulate(step, {{1.0, 1.0, 1.0}, {0, 0, 0, 0.5, 0, 0}}).buckets[0].end_s, 1.65);
}

// Work after the backward (copies back and the optimizer) does not slow down hops.
TEST(BesideCompute, CopiesBackSlowNoCollective) {
  DdpStep step = one_bucket(0.5, 0.0);
  step.buckets.push_back({1.0, {0.1, 0.3, 0.0}, 0.0, 0.8});
  step.buckets[0].copy_back_s = 0.3;
  const DdpRanksResult ranks = simulate(step, {{1.0, 1.0}, {}});
  EXPECT_DOUBLE_EQ(ranks.buckets[1].end_s, 1.4);
  EXPECT_NEAR(ranks.step_s, simulate(step).step_s, 1e-12);
}

}  // namespace
}  // namespace ddpprof::step
