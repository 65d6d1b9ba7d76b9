// Collectives that run slower beside compute: what each takes follows from how much of it the backward overlaps.
#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "simulator/engine/graph.hpp"
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

std::size_t at(engine::Task task) { return static_cast<std::size_t>(task); }

// Alone 1 s of latency and 2 s of transfer; the load, on from 0.5 to 1.5 and from 2.5 to 3, makes everything thrice as
// long: 5/6 s of latency by 1.5, the rest and 5/6 s of transfer by 2.5, 1/6 s more by 3, the last second alone.
TEST(EngineLoads, SlowLatencyAndTransferWhileTheyAreOn) {
  engine::Graph graph;
  const engine::Load load = graph.add_load();
  const engine::Link link = graph.add_link();
  const engine::Lane network = graph.add_lane(), compute = graph.add_lane();
  const engine::Task transfer = graph.add_task({1.0, 2.0, link}, {network});
  graph.slow_beside(load, 3.0);
  for (const auto& [pause_s, busy_s] : {std::pair{0.5, 1.0}, std::pair{1.0, 0.5}}) {
    graph.add_task({pause_s}, {compute});
    graph.add_task({busy_s}, {compute});
    graph.carry(load);
  }
  EXPECT_NEAR(engine::simulate(graph)[at(transfer)].end_s, 3.0 + 1.0, 1e-12);
}

// Two on a link, one of them slowed from 1 to 3: the other has its half of the link all the same.
TEST(EngineLoads, LeaveTheOtherTransfersOfALinkAlone) {
  engine::Graph graph;
  const engine::Load load = graph.add_load();
  const engine::Link link = graph.add_link();
  const engine::Task slowed = graph.add_task({0.0, 3.0, link}, {graph.add_lane()});
  graph.slow_beside(load, 2.0);
  const engine::Task other = graph.add_task({0.0, 2.0, link}, {graph.add_lane()});
  const engine::Task pause = graph.add_task({1.0}, {});
  graph.add_task({2.0}, {}, {pause});
  graph.carry(load);
  const auto times = engine::simulate(graph);
  EXPECT_NEAR(times[at(other)].end_s, 4.0, 1e-12);
  // 0.5 by 1, 0.5 more by 3, 0.5 more by 4, then 1.5 alone.
  EXPECT_NEAR(times[at(slowed)].end_s, 5.5, 1e-12);
}

TEST(EngineLoads, RefuseWhatCannotBe) {
  engine::Graph graph;
  const engine::Load load = graph.add_load(), other = graph.add_load();
  EXPECT_THROW(graph.carry(load), std::invalid_argument);
  EXPECT_THROW(graph.slow_beside(load, 2.0), std::invalid_argument);
  const engine::Lane network = graph.add_lane(), compute = graph.add_lane({.slowed_by = network, .slowdown = 2.0});
  graph.add_task({1.0}, {compute});
  EXPECT_THROW(graph.slow_beside(load, 2.0), std::invalid_argument);
  graph.carry(load);
  EXPECT_THROW(graph.carry(other), std::invalid_argument);
  graph.add_task({1.0}, {});
  EXPECT_THROW(graph.slow_beside(2, 2.0), std::invalid_argument);
  EXPECT_THROW(graph.slow_beside(load, 0.5), std::invalid_argument);
  graph.slow_beside(load, 2.0);
  EXPECT_THROW(graph.slow_beside(load, 2.0), std::invalid_argument);
  EXPECT_THROW(graph.carry(load), std::invalid_argument);
  EXPECT_THROW(graph.occupy(compute), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::step
