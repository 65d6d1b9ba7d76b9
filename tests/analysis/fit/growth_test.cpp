// The law by which step times grow beyond a table: its formulas, its interval.
#include "analysis/fit/table/growth.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ddpprof::fit {
namespace {

constexpr GrowthConstants constants = {.inside = 0.01,
                                       .inside_loss = 0.1,
                                       .between = 0.02,
                                       .between_loss = 0.4,
                                       .crossing = 0.03,
                                       .crossing_doubling = 0.05,
                                       .fewer = 0.01,
                                       .fewer_doubling = 0.04,
                                       .one_node = {0.01, 0.02, 10.0},
                                       .several_nodes = {0.03, 0.04, 0.0},
                                       .first_crossing = {0.1, 0.3, 0.0},
                                       .fewer_ranks = {0.1, 0.05, 0.0},
                                       .interpolated = {0.02, 0.02, 0.0},
                                       .other_batch = {0.2, 0.2, 0.0}};

TEST(Growth, FewerRanksAndRanksBetweenMeasuredOnes) {
  const auto at = [](Region region, double doublings) { return growth_of({region, doublings, 0.0, false}, constants, 0.9); };
  EXPECT_DOUBLE_EQ(at(Region::fewer_ranks, 2.0).mean, -0.01 - 2 * 0.04);
  EXPECT_EQ(at(Region::fewer_ranks, 0.0).mean, 0.0) << "measured";
  EXPECT_EQ(at(Region::interpolated, 1.5).mean, 0.0);
  EXPECT_GT(at(Region::interpolated, 2.0).high, at(Region::interpolated, 1.0).high);
}

TEST(Growth, FollowsTheRegion) {
  const auto mean = [](Region region, double doublings, double loss) {
    return growth_of({region, doublings, loss, false}, constants, 0.9).mean;
  };
  EXPECT_DOUBLE_EQ(mean(Region::one_node, 2.0, 0.1), 2.0 * (0.01 + 0.1 * 0.1));
  EXPECT_DOUBLE_EQ(mean(Region::one_node, 2.0, 0.9), 2.0 * (0.01 + 0.1 * 0.25));  // a loss counts up to a quarter
  EXPECT_DOUBLE_EQ(mean(Region::several_nodes, 3.0, 0.2), 3.0 * 0.02);
  EXPECT_DOUBLE_EQ(mean(Region::several_nodes, 3.0, 0.5), 3.0 * (0.02 + 0.4 * 0.25));
  EXPECT_DOUBLE_EQ(mean(Region::first_crossing, 1.0, 0.5), 0.03 + 0.05);
  EXPECT_DOUBLE_EQ(mean(Region::one_node, 0.0, 0.9), 0.0);
}

TEST(Growth, TheIntervalGrowsWithDistanceAndLoss) {
  const Growth near = growth_of({Region::one_node, 1.0, 0.0, false}, constants, 0.9);
  EXPECT_DOUBLE_EQ(near.low, -0.01) << "an equal step, which is below 0.01 - 0.01 sqrt(2)";
  EXPECT_DOUBLE_EQ(near.high - near.mean, 0.02 * std::sqrt(2.0));
  const Growth lossy = growth_of({Region::one_node, 1.0, 0.2, false}, constants, 0.9);
  EXPECT_DOUBLE_EQ(lossy.high - lossy.mean, 0.02 * std::sqrt(1.0 + 1.0 + 4.0));
  const Growth other = growth_of({Region::one_node, 1.0, 0.0, true}, constants, 0.9);
  EXPECT_DOUBLE_EQ(other.high - other.mean, 0.2 * std::sqrt(2.0));
}

// At D = 9 the law's own interval on several nodes begins above the measured step, at 0.18 - 0.03 sqrt(10).
TEST(Growth, TheIntervalContainsAnEqualStep) {
  EXPECT_DOUBLE_EQ(growth_of({Region::several_nodes, 9.0, 0.0, false}, constants, 0.9).low, -0.03);
  EXPECT_DOUBLE_EQ(growth_of({Region::fewer_ranks, 8.0, 0.0, false}, constants, 0.9).high, 0.05);
  EXPECT_DOUBLE_EQ(growth_of({Region::several_nodes, 0.0, 0.0, false}, constants, 0.9).low, -0.03);
}

TEST(Growth, UnknownLinksAreAsUncertainForTwoNodesAsForMany) {
  const auto interval_above = [](double doublings) {
    const Growth growth = growth_of({Region::first_crossing, doublings, 0.1, false}, constants, 0.9);
    return growth.high - growth.mean;
  };
  EXPECT_DOUBLE_EQ(interval_above(1.0), 0.3);
  EXPECT_DOUBLE_EQ(interval_above(4.0), 0.3);
}

TEST(Growth, UnknownLinksAndAnotherBatchAddUp) {
  const Growth growth = growth_of({Region::first_crossing, 0.0, 0.0, true}, constants, 0.9);
  EXPECT_DOUBLE_EQ(growth.high - growth.mean, std::hypot(0.2, 0.3));
  EXPECT_DOUBLE_EQ(growth.low, -std::hypot(0.2, 0.1));
}

// Quantiles of Student's t with 4 degrees of freedom: 0.7407, 2.1318, 4.6041 (tables).
TEST(Growth, OtherConfidencesFollowStudentsT) {
  EXPECT_NEAR(interval_ratio(0.5), 0.7407 / 2.1318, 1e-4);
  EXPECT_DOUBLE_EQ(interval_ratio(0.9), 1.0);
  EXPECT_NEAR(interval_ratio(0.99), 4.6041 / 2.1318, 1e-4);
}

}  // namespace
}  // namespace ddpprof::fit
