// Statistics of a range, search and flows, with values computed by hand from the synthetic run.
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/timeline/details.hpp"
#include "analysis/timeline/flows.hpp"
#include "analysis/timeline/load.hpp"
#include "analysis/timeline/search.hpp"
#include "analysis/timeline/statistics.hpp"
#include "tests/analysis/timeline/traced_run.hpp"

namespace ddpprof::timeline {
namespace {

using test::ms;

class TimelineQueries : public testing::Test {
 protected:
  const NameStatistics* of(const RangeStatistics& statistics, const std::string& name) const {
    for (const NameStatistics& one : statistics.names)
      if (all_->names.text(one.name) == name) return &one;
    return nullptr;
  }

  test::TracedFile file_;
  std::shared_ptr<const Timeline> all_ = load(file_.path, test::traced_measurement);
};

TEST_F(TimelineQueries, EventsAreCutToTheRange) {
  // [1000, 1020) ms: 1 ms of data wait and 19 ms of forward on each rank; rank 1 starts 5 µs later.
  const auto statistics = range_statistics(*all_, 1000 * ms, 1020 * ms);
  ASSERT_TRUE(statistics);
  const NameStatistics* forward = of(*statistics, "forward");
  ASSERT_NE(forward, nullptr);
  EXPECT_EQ(forward->count, 2);
  EXPECT_EQ(forward->total_ns, 19 * ms + 19 * ms - 5000);
  EXPECT_EQ(forward->longest_ns, 19 * ms);
  EXPECT_DOUBLE_EQ(forward->mean_ns(), 19.0 * ms - 2500.0);
  const NameStatistics* mark = of(*statistics, "inner");
  ASSERT_NE(mark, nullptr);
  EXPECT_EQ(mark->count, 5) << "two nested, two overlapping, the mark";
  EXPECT_EQ(mark->total_ns, 100 + 200 + 1850 + 240);
  EXPECT_EQ(of(*statistics, "backward"), nullptr);
}

TEST_F(TimelineQueries, AnEmptyRangeBetweenEventsHoldsNothing) {
  const auto statistics = range_statistics(*all_, 5000 * ms, 5001 * ms);
  ASSERT_TRUE(statistics);
  EXPECT_EQ(statistics->events, 0);
  EXPECT_TRUE(statistics->names.empty());
  ASSERT_EQ(statistics->ranks.size(), 2U);
  ASSERT_TRUE(statistics->ranks[0].time);
  EXPECT_EQ(statistics->ranks[0].time->compute_ns, 0);
}

TEST_F(TimelineQueries, WholeStepsCountAsTheFileHasThem) {
  // Rank 0's first two steps, [1000, 1240) ms: each 90 ms of compute, 50 of communication, 20 overlapped, 4 of skew.
  const auto statistics = range_statistics(*all_, 1000 * ms, 1240 * ms);
  ASSERT_TRUE(statistics);
  const RankStatistics& zero = statistics->ranks[0];
  EXPECT_EQ(zero.whole_steps, 2);
  EXPECT_EQ(zero.cut_steps, 0);
  ASSERT_TRUE(zero.time);
  EXPECT_EQ(zero.time->compute_ns, 180 * ms);
  EXPECT_EQ(zero.time->communication_ns, 100 * ms);
  EXPECT_EQ(zero.time->exposed_ns, 60 * ms);
  EXPECT_EQ(zero.time->skew_ns, 8 * ms);
  EXPECT_EQ(statistics->ranks[1].whole_steps, 2) << "110 and 125 ms, 5 µs later";
  EXPECT_EQ(statistics->ranks[1].cut_steps, 1);
}

TEST_F(TimelineQueries, ACutStepCountsByItsIntervals) {
  // [1060, 1100) ms of rank 0's first step. Backward is [1031, 1110); its last launch is at 1050, its last collective
  // ends at 1092: waiting [1050, 1092), so it computes in [1092, 1100). In flight: [1042, 1066) and [1052, 1092), so
  // [1060, 1092). Skew: none of it, the waits are [1042, 1046).
  const auto statistics = range_statistics(*all_, 1060 * ms, 1100 * ms);
  ASSERT_TRUE(statistics);
  const RankStatistics& zero = statistics->ranks[0];
  EXPECT_EQ(zero.cut_steps, 1);
  ASSERT_TRUE(zero.time);
  EXPECT_EQ(zero.time->compute_ns, 8 * ms);
  EXPECT_EQ(zero.time->communication_ns, 32 * ms);
  EXPECT_EQ(zero.time->overlapped_ns, 0);
  EXPECT_EQ(zero.time->exposed_ns, 32 * ms);
  EXPECT_EQ(zero.time->skew_ns, 0);
}

TEST_F(TimelineQueries, ACutWarmUpStepIsNotKnown) {
  const auto one = load(file_.path, 1);  // a warm-up step of 500 ms from 0 on
  const auto cut = range_statistics(*one, 10 * ms, 20 * ms);
  ASSERT_TRUE(cut);
  EXPECT_FALSE(cut->ranks[0].time);
  const auto whole = range_statistics(*one, 0, 500 * ms);
  ASSERT_TRUE(whole && whole->ranks[0].time);
  EXPECT_EQ(whole->ranks[0].time->compute_ns, 100 * ms);
}

TEST_F(TimelineQueries, CancelledStatisticsGiveNothing) {
  EXPECT_FALSE(range_statistics(*all_, 0, 5000 * ms, [] { return true; }));
}

TEST_F(TimelineQueries, SearchFindsPartsOfNamesInOrderOfTime) {
  const auto hits = search(*all_, "oUTer");
  ASSERT_TRUE(hits);
  ASSERT_EQ(hits->size(), 3U) << "rank 0's range, the range that never ended, rank 1's range";
  std::int64_t last_ns = 0;
  for (const EventRef& hit : *hits) {
    EXPECT_GE(all_->rows[hit.row].start_ns[hit.event], last_ns);
    last_ns = all_->rows[hit.row].start_ns[hit.event];
  }
  EXPECT_EQ(first_hit_from(*all_, *hits, 1000 * ms), 0U);
  EXPECT_EQ(first_hit_from(*all_, *hits, 1000 * ms + 1), 1U);
  EXPECT_EQ(first_hit_from(*all_, *hits, 9000 * ms), 3U);
  EXPECT_EQ(search(*all_, "backward")->size(), 10U);
  EXPECT_TRUE(search(*all_, "no such thing")->empty());
  EXPECT_TRUE(search(*all_, "")->empty());
  EXPECT_FALSE(search(*all_, "a", [] { return true; }));
}

TEST_F(TimelineQueries, TheLastToStartIsTheSlowest) {
  // Both ranks start 42 ms into their own steps; step 0's starts differ only by the 5 µs of the clock.
  ASSERT_EQ(all_->groups.size(), 8U);
  const FlowFacts first = flow_facts(*all_, all_->groups[0]);
  EXPECT_EQ(first.started, 2);
  EXPECT_EQ(first.unfinished, 0);
  EXPECT_EQ(first.skew_ns, 5000);
  ASSERT_TRUE(first.slowest);
  EXPECT_EQ(all_->collectives[*first.slowest].rank, 1U);
  // Step 1 starts at 1120 on rank 0 and 1110 ms on rank 1.
  const FlowFacts third = flow_facts(*all_, all_->groups[2]);
  EXPECT_EQ(third.skew_ns, 10 * ms - 5000);
  EXPECT_EQ(all_->collectives[*third.slowest].rank, 0U);
}

// If a rank's clock is unknown, the last rank is unknown: its collectives are not in a group with the others'.
TEST(TimelineClocks, ARankWhoseClockIsUnknownIsNotLaidBesideTheOthers) {
  const test::TracedFile file;
  store::Database::open_write(file.path).sql().exec("UPDATE shard SET clock_reference = 'unknown' WHERE id = 3");
  const auto all = load(file.path, test::traced_measurement);
  ASSERT_EQ(all->ranks.size(), 2U);
  EXPECT_TRUE(all->ranks[0].clock_known);
  EXPECT_FALSE(all->ranks[1].clock_known);
  ASSERT_EQ(all->groups.size(), 16U) << "8 collectives of each rank";
  for (const Group& group : all->groups) EXPECT_EQ(group.members.size(), 1U);
  for (const Collective& c : all->collectives) {
    const auto said = details(*all, {c.row, c.event});
    const bool apart = std::ranges::any_of(said, [](const Detail& one) { return one.name == "starts apart"; });
    EXPECT_EQ(apart, c.rank == 0) << "rank " << c.rank;
  }
}

TEST_F(TimelineQueries, AGroupWithAMemberThatNeverEndedSaysSo) {
  std::int64_t unfinished = 0;
  for (const Group& group : all_->groups) unfinished += flow_facts(*all_, group).unfinished;
  EXPECT_EQ(unfinished, 1);
}

TEST_F(TimelineQueries, GroupsAreFoundByTimeAndByEvent) {
  const auto [first, last] = groups_between(*all_, 1000 * ms, 1100 * ms);
  EXPECT_EQ(first, 0U);
  EXPECT_EQ(last, 2U);
  for (const Collective& c : all_->collectives) EXPECT_EQ(group_of(*all_, {c.row, c.event}), c.group);
  EXPECT_FALSE(group_of(*all_, {0, 0})) << "a step";
}

TEST(TimelineGroups, ALongOneMakesNoOthersTouchTheRange) {
  Timeline all;
  all.groups.push_back({{}, 0, 1000});
  for (std::int64_t i = 0; i < 100; ++i) all.groups.push_back({{}, 1000 + 10 * i, 1005 + 10 * i});
  all.longest_group_ns = 1000;
  EXPECT_EQ(groups_touching(all, 1500, 1530, 3), (std::vector<std::uint32_t>{51, 52, 53}));
  EXPECT_FALSE(groups_touching(all, 1500, 1530, 2)) << "more than requested";
  EXPECT_EQ(groups_touching(all, 1505, 1506, 3), (std::vector<std::uint32_t>{51})) << "it ends at 1505";
  EXPECT_EQ(groups_touching(all, 500, 600, 3), (std::vector<std::uint32_t>{0}));
  EXPECT_TRUE(groups_touching(all, 5000, 6000, 3)->empty());
}

TEST(TimelineForeignFile, APhaseCalledStepIsNoStep) {
  test::TracedFile file;
  {
    store::Database db = store::Database::open_write(file.path);
    db.sql().exec("UPDATE phase SET name = 'step', bytes = 4096 WHERE name = 'forward'");
  }
  const auto all = load(file.path, test::traced_measurement);
  int seen = 0;
  for (std::uint32_t r = 0; r < all->rows.size(); ++r)
    for (std::uint32_t i = 0; i < all->rows[r].size(); ++i) {
      if (all->names.text(all->rows[r].name[i]) != "step") continue;
      ++seen;
      EXPECT_EQ(bytes_of(*all, {r, i}), 4096);
      for (const Detail& detail : details(*all, {r, i})) EXPECT_NE(detail.name, "samples") << "a step's";
    }
  EXPECT_EQ(seen, 10);
}

}  // namespace
}  // namespace ddpprof::timeline
