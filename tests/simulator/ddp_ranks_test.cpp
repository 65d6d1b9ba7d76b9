// The closed recurrence of a DDP step against ranks and collectives that are advanced one by one.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "simulator/stats/random.hpp"
#include "tests/simulator/reference/ddp_ranks.hpp"

namespace ddpprof::step {
namespace {

TEST(DdpRanks, AgreeWithTheClosedRecurrence) {
  stats::Random random(11);
  for (int round = 0; round < 300; ++round) {
    DdpStep step;
    step.forward_s = random.uniform();
    step.backward_s = 2.0 * random.uniform();
    step.data_s = 0.1 * random.uniform();
    step.buffers_s = 0.1 * random.uniform();
    step.optimizer_s = 0.2 * random.uniform();
    step.lanes = static_cast<int>(1 + random.below(3));
    step.lanes_share_link = random.below(3) != 0;
    // The recurrence lets the slowdown end with the backward; the ranks also slow what follows it beside a collective.
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
    const DdpResult expected = simulate(step);
    const std::size_t ranks = 1 + random.below(5);
    RankDifferences differences{std::vector<double>(ranks, 1.0), {}};
    differences.pace[random.below(ranks)] += step.straggler_s / (step.forward_s + step.backward_s);
    step.straggler_s = 0.0;
    const DdpRanksResult found = simulate(step, differences);
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
  DdpStep step;
  step.backward_s = 8e-3;
  step.lanes = 1;
  step.buckets = {{4e-3, {0.0, 1e-3, 0.0}, 0.0}, {8e-3, {0.0, 1e-3, 0.0}, 0.0}};
  const DdpRanksResult result = simulate(step, {{1.0, 1.0, 1.0}, {0, 0, 0, 3e-3, 0, 0, 0, 5e-3, 0}});
  EXPECT_EQ(result.last_rank, (std::vector<std::int64_t>{1, 2}));
  EXPECT_NEAR(result.buckets[0].ready_s, 4e-3, 1e-12);
  EXPECT_NEAR(result.buckets[0].start_s, 7e-3, 1e-12);
  EXPECT_NEAR(result.buckets[1].start_s, 13e-3, 1e-12);
  EXPECT_NEAR(result.step_s, 14e-3, 1e-12);
  EXPECT_NEAR(result.waited_s[0], 3e-3 + 5e-3, 1e-12);
  EXPECT_NEAR(result.waited_s[1], 0.0 + 2e-3, 1e-12);
  EXPECT_NEAR(result.waited_s[2], 3e-3, 1e-12);
}

TEST(DdpRanks, AccumulationRepeatsTheWholeBackward) {
  DdpStep step;
  step.forward_s = 1.0;
  step.backward_s = 2.0;
  step.accumulation = 3;
  step.buckets = {{2.0, {0.0, 0.5, 0.0}, 0.0}};
  EXPECT_NEAR(simulate(step, {{1.0, 2.0}, {}}).step_s, 2.0 * 9.0 + 0.5, 1e-12);
  EXPECT_NEAR(simulate(step).step_s, 9.0 + 0.5, 1e-12);
}

TEST(DdpRanks, RefuseWhatCannotBe) {
  DdpStep step;
  EXPECT_THROW(simulate(step, {}), std::invalid_argument);
  EXPECT_THROW(simulate(step, {{0.0}, {}}), std::invalid_argument);
  EXPECT_THROW(simulate(step, {{1.0}, {0.0, 0.0}}), std::invalid_argument);
  step.straggler_s = 1.0;
  EXPECT_THROW(simulate(step, {{1.0}, {}}), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::step
