// The engine against hand-made schedules, and against the closed recurrence of DDP's step where ranks are equal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/engine/graph.hpp"
#include "simulator/stats/random.hpp"
#include "tests/simulator/reference/ddp_ranks.hpp"

namespace ddpprof::engine {
namespace {

using testing::HasSubstr;

constexpr double tiny = 1e-12;

double end_of(const std::vector<Times>& times) {
  double end_s = 0.0;
  for (const Times& one : times) end_s = std::max(end_s, one.end_s);
  return end_s;
}

TEST(Engine, ALaneRunsItsTasksInTheOrderOfIssue) {
  Graph graph;
  const Lane lane = graph.add_lane(), other = graph.add_lane();
  const Task late = graph.add_task({5.0}, {other});
  const Task first = graph.add_task({1.0}, {lane}, {late});
  const Task second = graph.add_task({1.0}, {lane});
  const auto times = simulate(graph);
  EXPECT_EQ(times[static_cast<std::size_t>(first)].start_s, 5.0);
  // It was ready at once: its turn comes after the first's all the same, as on a stream.
  EXPECT_EQ(times[static_cast<std::size_t>(second)].ready_s, 0.0);
  EXPECT_EQ(times[static_cast<std::size_t>(second)].start_s, 6.0);
}

TEST(Engine, AServerTakesWhoComesFirst) {
  Graph graph;
  const Lane server = graph.add_lane({.order = Order::ready});
  const Lane slow = graph.add_lane(), quick = graph.add_lane();
  const Task after_slow = graph.add_task({2.0}, {server}, {graph.add_task({5.0}, {slow})});
  const Task after_quick = graph.add_task({2.0}, {server}, {graph.add_task({1.0}, {quick})});
  const auto times = simulate(graph);
  EXPECT_EQ(times[static_cast<std::size_t>(after_quick)].start_s, 1.0);
  EXPECT_EQ(times[static_cast<std::size_t>(after_slow)].start_s, 5.0);
}

TEST(Engine, SeveralPlacesStartInOrderToo) {
  Graph graph;
  const Lane threads = graph.add_lane({.capacity = 2});
  const Task waits = graph.add_task({1.0}, {threads}, {graph.add_task({5.0}, {})});
  const Task ready = graph.add_task({1.0}, {threads});
  const auto times = simulate(graph);
  EXPECT_EQ(times[static_cast<std::size_t>(waits)].start_s, 5.0);
  EXPECT_EQ(times[static_cast<std::size_t>(ready)].start_s, 5.0);
}

TEST(Engine, OfThoseThatComeTogetherTheFirstIsServedFirst) {
  Graph graph;
  const Link link = graph.add_link();
  const Lane server = graph.add_lane({.order = Order::ready});
  std::vector<Task> served;
  for (int i = 0; i < 4; ++i) served.push_back(graph.add_task({1.0}, {server}, {graph.add_task({0.0, 1.0, link}, {})}));
  const auto times = simulate(graph);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(times[static_cast<std::size_t>(served[i])].start_s, 4.0 + static_cast<double>(i));
}

TEST(Engine, ACollectiveStartsWhenAllHaveComeAndEndsForAll) {
  Graph graph;
  const Lane a = graph.add_lane(), b = graph.add_lane();
  graph.add_task({1.0}, {a});
  graph.add_task({3.0}, {b});
  const Task both = graph.add_task({2.0}, {a, b});
  const Task next = graph.add_task({1.0}, {a});
  const auto times = simulate(graph);
  EXPECT_EQ(times[static_cast<std::size_t>(both)].start_s, 3.0);
  EXPECT_EQ(times[static_cast<std::size_t>(next)].end_s, 6.0);
}

TEST(Engine, TransfersShareALinkEvenlyAfterTheirLatency) {
  Graph graph;
  const Link link = graph.add_link();
  const Task one = graph.add_task({1.0, 4.0, link}, {});
  const Task two = graph.add_task({3.0, 4.0, link}, {});
  const Task elsewhere = graph.add_task({1.0, 4.0}, {});
  const auto times = simulate(graph);
  // Alone from 1 to 3, then shared: what is left of the first (2) ends at 7, the second's last 2 at 9.
  EXPECT_NEAR(times[static_cast<std::size_t>(one)].end_s, 7.0, tiny);
  EXPECT_NEAR(times[static_cast<std::size_t>(two)].end_s, 9.0, tiny);
  EXPECT_EQ(times[static_cast<std::size_t>(elsewhere)].end_s, 5.0);
}

TEST(Engine, ComputeSlowsWhileItsOwnRankCommunicates) {
  Graph graph;
  const Lane communication = graph.add_lane();
  const Lane compute = graph.add_lane({.slowed_by = communication, .slowdown = 2.0});
  const Task work = graph.add_task({10.0}, {compute});
  graph.add_task({4.0}, {communication}, {graph.add_task({3.0}, {})});
  // 3 alone, 4 at half speed for 2 of work, then the last 5: 12.
  EXPECT_NEAR(simulate(graph)[static_cast<std::size_t>(work)].end_s, 12.0, tiny);
}

TEST(Engine, AChainWithoutTimeEndsAtOnce) {
  Graph graph;
  const Lane lane = graph.add_lane();
  Task last = graph.add_task({1.5}, {lane});
  for (int i = 0; i < 200000; ++i) last = graph.add_task({}, {lane}, {last});
  EXPECT_EQ(simulate(graph).back().end_s, 1.5);
}

TEST(Engine, ACircleIsNamed) {
  Graph stuck;
  const Lane lane = stuck.add_lane(), between = stuck.add_lane(), more = stuck.add_lane();
  stuck.add_task({1.0}, {});
  stuck.add_task({1.0}, {lane, between, more, between});  // one place, asked for twice
  try {
    simulate(stuck);
    FAIL() << "expected std::logic_error";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("task 1 never starts"));
  }
}

TEST(Engine, RefusesWhatCannotBe) {
  Graph graph;
  EXPECT_THROW(graph.add_lane({.capacity = 0}), std::invalid_argument);
  EXPECT_THROW(graph.add_lane({.slowdown = 0.5}), std::invalid_argument);
  EXPECT_THROW(graph.add_lane({.slowed_by = 3}), std::invalid_argument);
  EXPECT_THROW(graph.add_task({-1.0}, {}), std::invalid_argument);
  EXPECT_THROW(graph.add_task({0.0, 1.0, 0}, {}), std::invalid_argument);
  EXPECT_THROW(graph.add_task({1.0}, {0}), std::invalid_argument);
  EXPECT_THROW(graph.add_task({1.0}, {}, {5}), std::invalid_argument);
  const Lane server = graph.add_lane({.order = Order::ready}), lane = graph.add_lane();
  EXPECT_THROW(graph.add_task({1.0}, {lane, server}), std::invalid_argument);
  EXPECT_THROW(graph.add_task({1.0}, {lane, lane}), std::invalid_argument);
  EXPECT_EQ(graph.tasks(), 0U);  // nothing of what was refused is left
}

TEST(DdpRanks, AgreeWithTheClosedRecurrence) {
  stats::Random random(11);
  for (int round = 0; round < 300; ++round) {
    step::DdpStep step;
    step.forward_s = random.uniform();
    step.backward_s = 2.0 * random.uniform();
    step.data_s = 0.1 * random.uniform();
    step.buffers_s = 0.1 * random.uniform();
    step.optimizer_s = 0.2 * random.uniform();
    step.lanes = static_cast<int>(1 + random.below(3));
    step.lanes_share_link = random.below(3) != 0;
    // The recurrence lets the slowdown end with the backward; the graph also slows what follows it beside a collective.
    const bool slowed = random.below(2) == 0;
    step.slowdown = slowed ? 1.0 + random.uniform() : 1.0;
    step.straggler_s = random.below(2) == 0 ? 0.3 * random.uniform() : 0.0;
    const std::uint64_t buckets = random.below(12);
    const bool beside = random.below(2) == 0;
    for (std::uint64_t i = 0; i < buckets; ++i) {
      step.buckets.push_back({step.backward_s * random.uniform(),
                              {0.05 * random.uniform(), 0.3 * random.uniform(), 0.02 * random.uniform()},
                              slowed ? 0.0 : 0.02 * random.uniform(),
                              beside ? 0.5 * random.uniform() : 0.0});
    }
    const step::DdpResult expected = step::simulate(step);
    const std::size_t ranks = 1 + random.below(5);
    step::RankDifferences differences{std::vector<double>(ranks, 1.0), {}};
    differences.pace[random.below(ranks)] += step.straggler_s / (step.forward_s + step.backward_s);
    step.straggler_s = 0.0;
    const step::DdpRanksResult found = step::simulate(step, differences);
    EXPECT_NEAR(found.step_s, expected.step_s, 1e-9) << round;
    const double begin_s = step.data_s + step.buffers_s + step.forward_s;
    for (std::size_t i = 0; i < found.buckets.size(); ++i) {
      EXPECT_NEAR(found.buckets[i].start_s - begin_s, expected.buckets[i].start_s, 1e-9) << round << ' ' << i;
      EXPECT_NEAR(found.buckets[i].end_s - begin_s, expected.buckets[i].end_s, 1e-9) << round << ' ' << i;
    }
  }
}

TEST(DdpRanks, EachBucketWaitsForItsOwnLatestRank) {
  // Two buckets, 4 and 8 ms into the backward; rank 1 is held up for 3 ms before the first, rank 2 for 5 before the
  // second, which makes up for nothing: rank 1 was never behind again.
  step::DdpStep step;
  step.backward_s = 8e-3;
  step.lanes = 1;
  step.buckets = {{4e-3, {0.0, 1e-3, 0.0}, 0.0}, {8e-3, {0.0, 1e-3, 0.0}, 0.0}};
  const step::DdpRanksResult result = step::simulate(step, {{1.0, 1.0, 1.0}, {0, 0, 0, 3e-3, 0, 0, 0, 5e-3, 0}});
  EXPECT_EQ(result.last_rank, (std::vector<std::int64_t>{1, 2}));
  EXPECT_NEAR(result.buckets[0].ready_s, 4e-3, tiny);
  EXPECT_NEAR(result.buckets[0].start_s, 7e-3, tiny);
  EXPECT_NEAR(result.buckets[1].start_s, 13e-3, tiny);
  EXPECT_NEAR(result.step_s, 14e-3, tiny);
  EXPECT_NEAR(result.waited_s[0], 3e-3 + 5e-3, tiny);
  EXPECT_NEAR(result.waited_s[1], 0.0 + 2e-3, tiny);
  EXPECT_NEAR(result.waited_s[2], 3e-3, tiny);
}

TEST(DdpRanks, AccumulationRepeatsTheWholeBackward) {
  step::DdpStep step;
  step.forward_s = 1.0;
  step.backward_s = 2.0;
  step.accumulation = 3;
  step.buckets = {{2.0, {0.0, 0.5, 0.0}, 0.0}};
  EXPECT_NEAR(step::simulate(step, {{1.0, 2.0}, {}}).step_s, 2.0 * 9.0 + 0.5, tiny);
  EXPECT_NEAR(step::simulate(step).step_s, 9.0 + 0.5, tiny);
}

TEST(DdpRanks, RefuseWhatCannotBe) {
  step::DdpStep step;
  EXPECT_THROW(step::simulate(step, {}), std::invalid_argument);
  EXPECT_THROW(step::simulate(step, {{0.0}, {}}), std::invalid_argument);
  EXPECT_THROW(step::simulate(step, {{1.0}, {0.0, 0.0}}), std::invalid_argument);
  step.straggler_s = 1.0;
  EXPECT_THROW(step::simulate(step, {{1.0}, {}}), std::invalid_argument);
}

TEST(Engine, LanesThatDifferWaitForTheLatest) {
  // Two buckets; the first is late on rank 0, the second on rank 1: each is reduced when its latest rank has come.
  Graph graph;
  const Lane c0 = graph.add_lane(), c1 = graph.add_lane(), n0 = graph.add_lane(), n1 = graph.add_lane();
  const Task a0 = graph.add_task({4.0}, {c0}), a1 = graph.add_task({1.0}, {c1});
  const Task first = graph.add_task({1.0}, {n0, n1}, {a0, a1});
  const Task b0 = graph.add_task({1.0}, {c0}), b1 = graph.add_task({9.0}, {c1});
  const Task second = graph.add_task({1.0}, {n0, n1}, {b0, b1});
  const auto times = simulate(graph);
  EXPECT_EQ(times[static_cast<std::size_t>(first)].start_s, 4.0);
  EXPECT_EQ(times[static_cast<std::size_t>(second)].start_s, 10.0);
  EXPECT_EQ(end_of(times), 11.0);
}

TEST(Engine, SameGraphSameBytes) {
  stats::Random random(3);
  Graph graph;
  const engine::Link link = graph.add_link();
  std::vector<Lane> lanes;
  for (int i = 0; i < 6; ++i) lanes.push_back(graph.add_lane({.capacity = 1 + i % 2}));
  for (int i = 0; i < 500; ++i) {
    const Task task =
        graph.add_task({random.uniform(), random.uniform(), i % 3 ? link : none}, {lanes[random.below(6)]});
    if (task > 0) graph.wait_for(static_cast<Task>(random.below(static_cast<std::uint64_t>(task))));
  }
  const auto once = simulate(graph), again = simulate(graph);
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].start_s, again[i].start_s);
    EXPECT_EQ(once[i].end_s, again[i].end_s);
  }
}

}  // namespace
}  // namespace ddpprof::engine
