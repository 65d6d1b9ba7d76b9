#include "analysis/ingest/matching.hpp"

#include <gtest/gtest.h>

namespace ddpprof::ingest {
namespace {

CollectiveSummary collective(std::uint64_t sequence, std::int64_t start_ns, std::optional<std::int64_t> end_ns) {
  CollectiveSummary made;
  made.fact.communicator = 7;
  made.fact.sequence = sequence;
  made.fact.start_ns = start_ns;
  made.fact.end_ns = end_ns;
  made.step = 0;
  return made;
}

ShardSummary rank(std::vector<CollectiveSummary> collectives) {
  ShardSummary made;
  made.steps.resize(1);
  made.steps[0].row.start_ns = 1000;
  made.steps[0].row.duration_ns = 1000;
  made.collectives = std::move(collectives);
  return made;
}

// Rank 2 starts last and does not wait. The other ranks' waits in two collectives overlap and count once. The third
// collective has no end on rank 5, which is reported although rank 5 is first in the list.
TEST(Matching, OfSummariesInMemory) {
  ShardSummary two = rank({collective(0, 1300, 1400), collective(1, 1350, 1500), collective(2, 1600, 1700)});
  ShardSummary five = rank({collective(0, 1200, 1400), collective(1, 1250, 1500), collective(2, 1600, std::nullopt)});
  const UnmatchedCollectives unmatched = match_collectives({{5, &five}, {2, &two}}, {});
  EXPECT_EQ(two.collectives[0].transfer_ns, 100);
  EXPECT_EQ(two.collectives[0].skew_ns, 0);
  EXPECT_EQ(five.collectives[0].transfer_ns, 100);
  EXPECT_EQ(five.collectives[0].skew_ns, 100);
  EXPECT_EQ(five.collectives[1].transfer_ns, 150);
  EXPECT_EQ(five.collectives[1].skew_ns, 100);
  EXPECT_EQ(two.steps[0].row.skew_ns, 0);
  EXPECT_EQ(five.steps[0].row.skew_ns, 150);  // [1200, 1350): two waits of 100 that share 50
  EXPECT_FALSE(two.collectives[2].transfer_ns);
  EXPECT_FALSE(five.collectives[2].skew_ns);
  EXPECT_EQ(unmatched.count, 1);
  EXPECT_EQ(unmatched.first_communicator, 7U);
  EXPECT_EQ(unmatched.first_sequence, 2U);
  EXPECT_EQ(unmatched.first_missing, std::vector<std::int64_t>{5});
}

// A rank without a shard makes every collective of its group unmatched, and is named.
TEST(Matching, ARankThatIsExpectedAndMissing) {
  ShardSummary zero = rank({collective(0, 1200, 1400)});
  const std::int64_t expected[] = {0, 1};
  const UnmatchedCollectives unmatched = match_collectives({{0, &zero}}, expected);
  EXPECT_EQ(unmatched.count, 1);
  EXPECT_EQ(unmatched.first_missing, std::vector<std::int64_t>{1});
  EXPECT_FALSE(zero.collectives[0].transfer_ns);
  EXPECT_EQ(match_collectives({{0, &zero}}, {}).count, 0);
  EXPECT_EQ(zero.collectives[0].skew_ns, 0);
}

}  // namespace
}  // namespace ddpprof::ingest
