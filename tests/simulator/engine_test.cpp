// The engine against hand-made schedules.
#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "simulator/engine/graph.hpp"
#include "simulator/stats/random.hpp"

namespace ddpprof::engine {
namespace {

constexpr double tiny = 1e-12;

TEST(Engine, ALaneRunsItsTasksInTheOrderOfIssue) {
  Graph graph;
  const Lane lane = graph.add_lane(), other = graph.add_lane();
  const Task late = graph.add_task({5.0}, {other});
  const Task first = graph.add_task({1.0}, {lane}, {late});
  const Task second = graph.add_task({1.0}, {lane});
  const auto times = simulate(graph);
  EXPECT_EQ(times[static_cast<std::size_t>(first)].start_s, 5.0);
  // It was ready at once: its turn comes after the first's all the same, as on a stream.
  EXPECT_EQ(times[static_cast<std::size_t>(second)].start_s, 6.0);
}

TEST(Engine, AServerTakesWhoComesFirst) {
  Graph graph;
  const Lane server = graph.add_lane(Order::ready);
  const Lane slow = graph.add_lane(), quick = graph.add_lane();
  const Task after_slow = graph.add_task({2.0}, {server}, {graph.add_task({5.0}, {slow})});
  const Task after_quick = graph.add_task({2.0}, {server}, {graph.add_task({1.0}, {quick})});
  const auto times = simulate(graph);
  EXPECT_EQ(times[static_cast<std::size_t>(after_quick)].start_s, 1.0);
  EXPECT_EQ(times[static_cast<std::size_t>(after_slow)].start_s, 5.0);
}

TEST(Engine, OfThoseThatComeTogetherTheFirstIsServedFirst) {
  Graph graph;
  const Link link = graph.add_link();
  const Lane server = graph.add_lane(Order::ready);
  std::vector<Task> served;
  for (int i = 0; i < 4; ++i) served.push_back(graph.add_task({1.0}, {server}, {graph.add_task({0.0, 1.0, link}, {})}));
  const auto times = simulate(graph);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(times[static_cast<std::size_t>(served[i])].start_s, 4.0 + static_cast<double>(i));
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

TEST(Engine, AChainWithoutTimeEndsAtOnce) {
  Graph graph;
  const Lane lane = graph.add_lane();
  Task last = graph.add_task({1.5}, {lane});
  for (int i = 0; i < 200000; ++i) last = graph.add_task({}, {lane}, {last});
  EXPECT_EQ(simulate(graph).back().end_s, 1.5);
}

TEST(Engine, RefusesWhatCannotBe) {
  Graph graph;
  EXPECT_THROW(graph.add_task({-1.0}, {}), std::invalid_argument);
  EXPECT_THROW(graph.add_task({0.0, 1.0, 0}, {}), std::invalid_argument);
  EXPECT_THROW(graph.add_task({1.0}, {0}), std::invalid_argument);
  EXPECT_THROW(graph.add_task({1.0}, {}, {5}), std::invalid_argument);
  EXPECT_THROW(graph.add_task({1.0}, {graph.add_lane()}, {0}), std::invalid_argument);
  EXPECT_EQ(graph.tasks(), 0U);  // nothing of what was refused is left
}

TEST(Engine, SameGraphSameBytes) {
  stats::Random random(3);
  Graph graph;
  const engine::Link link = graph.add_link();
  std::vector<Lane> lanes;
  for (int i = 0; i < 6; ++i) lanes.push_back(graph.add_lane());
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
