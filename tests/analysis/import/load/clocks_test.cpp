// Clocks aligned by collectives: ranks that share a clock get one offset, that of the rank with the smallest
// uncertainty.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/import/load/clocks.hpp"

namespace ddpprof::import {
namespace {

using ingest::CollectiveFact;
using ingest::LoadedShard;

// Ten steps of 1 ms with one all-reduce each. It ends on all ranks at once, except that `late_end_ns` is added to two
// of three. The clock is `behind_ns` behind rank 0's.
LoadedShard rank_of(std::int64_t rank, std::int64_t behind_ns, std::int64_t late_end_ns) {
  LoadedShard shard;
  shard.rank = rank;
  for (std::int64_t i = 0; i < 10; ++i) {
    const std::int64_t start_ns = 1'000'000 * i - behind_ns;
    shard.trace.steps.push_back({i, vocabulary::StepKind::measured, 0, {start_ns, start_ns + 1'000'000}});
    CollectiveFact fact;
    fact.communicator = 7;
    fact.sequence = static_cast<std::uint64_t>(i);
    fact.launch_ns = fact.start_ns = start_ns + 100'000;
    fact.end_ns = start_ns + 300'000 + (i % 3 != 0 ? late_end_ns : 0);
    shard.trace.collectives.push_back(fact);
  }
  shard.trace.events.add(-behind_ns);
  shard.trace.events.add(10'000'000 - behind_ns);
  return shard;
}

TEST(Clocks, RanksOfOneClockGetTheOffsetThatIsKnownBest) {
  std::vector<LoadedShard> shards = {rank_of(0, 0, 0), rank_of(1, 5'000'000, 40'000), rank_of(2, 5'000'000, 2'000)};
  align_ranks(shards, {{"a"}, {"b"}, {"b"}});
  EXPECT_EQ(shards[0].clock->reference, store::ClockReference::same_clock);
  for (const LoadedShard& shard : {shards[1], shards[2]}) {
    EXPECT_EQ(shard.clock->reference, store::ClockReference::exchange) << shard.rank;
    EXPECT_NEAR(static_cast<double>(shard.clock->offset_ns), 5'000'000, 2'000) << shard.rank;
    EXPECT_LE(shard.clock->uncertainty_ns, 2'000) << shard.rank;
  }
  EXPECT_EQ(shards[1].clock->offset_ns, shards[2].clock->offset_ns);
  EXPECT_EQ(shards[1].clock->at_ns, shards[2].clock->at_ns);
  EXPECT_NE(shards[1].clock->measured_offset_ns, shards[2].clock->measured_offset_ns)
      << "measured with its own collectives";
}

// With two collectives in common, rank 1's clock alone could not be aligned; rank 2 has the same clock.
TEST(Clocks, ARankWithTooFewCollectivesIsAlignedByAnotherOfItsClock) {
  std::vector<LoadedShard> shards = {rank_of(0, 0, 0), rank_of(1, 5'000'000, 0), rank_of(2, 5'000'000, 0)};
  shards[1].trace.collectives.resize(2);
  align_ranks(shards, {{"a"}, {"b"}, {"b"}});
  EXPECT_EQ(shards[1].clock->offset_ns, 5'000'000);
  EXPECT_EQ(shards[1].clock->uncertainty_ns, shards[2].clock->uncertainty_ns);
}

// Rank 3 of a 2 × 2 mesh shares its groups with ranks 1 and 2 only.
TEST(Clocks, ARankWithoutAGroupOfRankZeroIsAlignedThroughAnother) {
  std::vector<LoadedShard> shards = {rank_of(0, 0, 0), rank_of(1, 5'000'000, 1'000), rank_of(3, 9'000'000, 0)};
  const std::vector<CollectiveFact> with_zero = shards[1].trace.collectives;
  for (const std::size_t rank : {std::size_t{1}, std::size_t{2}})
    for (CollectiveFact fact : with_zero) {
      const std::int64_t later_ns = (rank == 2 ? -4'000'000 : 0) + 400'000;
      fact.communicator = 8;
      fact.launch_ns = *fact.launch_ns + later_ns;
      fact.start_ns = *fact.start_ns + later_ns;
      fact.end_ns = *fact.end_ns + later_ns;
      if (rank == 2 && fact.sequence == 0) shards[2].trace.collectives.clear();
      shards[rank].trace.collectives.push_back(fact);
    }
  align_ranks(shards, {{"a"}, {"b"}, {"c"}});
  ASSERT_TRUE(shards[2].clock->uncertainty_ns);
  EXPECT_EQ(shards[2].clock->reference, store::ClockReference::exchange);
  EXPECT_NEAR(static_cast<double>(shards[2].clock->offset_ns), 9'000'000, 2'000);
  EXPECT_GE(*shards[2].clock->uncertainty_ns, *shards[1].clock->uncertainty_ns);
}

TEST(Clocks, RanksOfTheirOwnClocksKeepTheirOwnOffsets) {
  std::vector<LoadedShard> shards = {rank_of(0, 0, 0), rank_of(1, 5'000'000, 0), rank_of(2, 7'000'000, 0)};
  align_ranks(shards, {{"a"}, {"b"}, {"c"}});
  EXPECT_EQ(shards[1].clock->offset_ns, 5'000'000);
  EXPECT_EQ(shards[2].clock->offset_ns, 7'000'000);
}

}  // namespace
}  // namespace ddpprof::import
