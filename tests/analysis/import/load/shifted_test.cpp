// Traces whose recordings began at different times, groups besides the one that reduces gradients, ranks in names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/import/load/ranks.hpp"
#include "analysis/import/trace/collectives/gradient_group.hpp"

namespace ddpprof::import {
namespace {

using ingest::CollectiveFact;
using ingest::LoadedShard;

// Steps of 1000 ns from `first` on with two all-reduces each, numbered from the start of the trace.
LoadedShard window(std::int64_t rank, std::int64_t first, int steps) {
  LoadedShard shard;
  shard.rank = rank;
  for (int i = 0; i < steps; ++i) {
    const std::int64_t start_ns = 1000 * (first + i);
    shard.trace.steps.push_back({first + i, vocabulary::StepKind::measured, 0, {start_ns, start_ns + 1000}});
    for (int k = 0; k < 2; ++k) {
      CollectiveFact fact;
      fact.communicator = 7;
      fact.sequence = static_cast<std::uint64_t>(2 * i + k);
      fact.bytes = 100 * (k + 1);
      fact.launch_ns = fact.start_ns = start_ns + 100 * (k + 1);
      fact.end_ns = *fact.start_ns + 50;
      shard.trace.collectives.push_back(fact);
    }
  }
  return shard;
}

// By (communicator, sequence): the steps with this number on the ranks.
TEST(Shifted, WindowsThatBeganAStepApartAreMatchedByStep) {
  std::vector<LoadedShard> shards{window(0, 10, 6), window(1, 11, 6)};
  EXPECT_EQ(number_collectives(shards), 0);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::set<std::int64_t>> starts;
  std::size_t both = 0;
  for (const LoadedShard& shard : shards)
    for (const CollectiveFact& fact : shard.trace.collectives) {
      auto& at = starts[{fact.communicator, fact.sequence}];
      if (!at.insert(*fact.start_ns).second) ++both;
      EXPECT_EQ(at.size(), 1U) << "one number for collectives of two steps";
    }
  EXPECT_EQ(both, 10U);  // five steps in common
}

TEST(Shifted, RecordedNumbersStandWhateverTheSteps) {
  std::vector<LoadedShard> shards{window(0, 10, 6), window(1, 11, 6)};
  for (CollectiveFact& fact : shards[1].trace.collectives) fact.sequence += 2;  // a step of two later
  EXPECT_EQ(number_collectives(shards, true), 0);
  EXPECT_EQ(shards[0].trace.collectives[2].sequence, shards[1].trace.collectives[0].sequence);
  EXPECT_EQ(*shards[0].trace.collectives[2].start_ns, *shards[1].trace.collectives[0].start_ns);
}

TEST(Shifted, NamesOfOtherThingsAreNoRanks) {
  EXPECT_EQ(rank_in_name("frank-2024.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("local_rank3.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("node_rank1_rank9_local_rank3.json"), 9);
  EXPECT_EQ(rank_in_name("trace_rank_20240523.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("rank9223372036854775807.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("job7_rank-3.pt.trace.json.gz"), 3);
  EXPECT_EQ(rank_in_name("Rank0.json"), 0);
}

// One step with backward from 100 to 800: two buckets of the world's group and three all-reduces of a group of two.
TEST(Shifted, OnlyTheGroupThatCarriesGradientsMakesBuckets) {
  for (const bool shapes : {true, false}) {
    RankTrace rank{SortOptions{}};
    if (shapes)
      for (const std::int64_t ready_ns : {200, 500}) rank.gradients.push_back({ready_ns, 1000, 4, 0});
    HostStep step;
    step.time = {0, 1000};
    step.passes.push_back({{0, 100}, {100, 800}});
    step.optimizers.push_back({850, 900});
    std::vector<Collective> collectives;
    const auto add = [&](std::int64_t launch_ns, std::uint64_t communicator, std::int64_t bytes, std::int64_t size) {
      Collective collective;
      collective.launch_ns = launch_ns;
      collective.communicator = communicator;
      collective.op = CollectiveOp::all_reduce;
      collective.bytes = bytes;
      collective.group_size = size;
      collectives.push_back(collective);
    };
    add(150, 2, 90000, 2);
    add(210, 1, 4000, 8);
    add(300, 2, 90000, 2);
    add(510, 1, 4000, 8);
    add(600, 2, 90000, 2);
    add(870, 1, 4, 8);  // after the optimizer's start: a loss's mean
    const MarkedGradients found = mark_gradients(rank, {step}, collectives);
    EXPECT_EQ(found.other_groups, 3);
    EXPECT_EQ(found.left_out, 0);
    std::vector<bool> marked;
    for (const Collective& collective : collectives) marked.push_back(collective.gradient);
    EXPECT_THAT(marked, testing::ElementsAre(false, true, false, true, false, false)) << shapes;
  }
}

TEST(Shifted, SizesThatCannotBeAreNotKnown) {
  EXPECT_EQ(bytes_of(9'000'000'000'000'000'000, 4), 0);
  EXPECT_EQ(bytes_of(-1, 4), 0);
  EXPECT_EQ(bytes_of(1000, 0), 0);
  EXPECT_EQ(bytes_of(1000, 2), 2000);
}

}  // namespace
}  // namespace ddpprof::import
