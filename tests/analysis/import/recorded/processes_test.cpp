// The ranks among the processes of a recorded job.
#include "analysis/import/recorded/processes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/store/shard_builder.hpp"

namespace ddpprof::import {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t second_ns = 1'000'000'000;

class Processes : public testing::Test {
 protected:
  struct Lived {
    std::int64_t from_s = 5, to_s = 15;
  };
  // A shard of a process with `chunks` chunks, each of its own thread.
  std::filesystem::path shard(const std::string& name, std::int32_t rank, std::int64_t pid, Lived lived = {5, 15},
                              int chunks = 1, std::int32_t world_size = 4) {
    test::ShardBuilder builder;
    builder.header.rank = rank;
    builder.header.world_size = world_size;
    builder.header.pid = pid;
    builder.header.opened_monotonic_ns = second_ns;
    builder.header.opened_realtime_ns = lived.from_s * second_ns;
    for (int i = 0; i < chunks; ++i) {
      builder.push(100 + i, second_ns, "work");
      builder.pop(100 + i, second_ns + (lived.to_s - lived.from_s) * second_ns);
    }
    builder.write(folder_ / name);
    return folder_ / name;
  }
  static std::vector<std::string> codes(const RecordedJob& job) {
    std::vector<std::string> all;
    for (const Note& note : job.notes) all.push_back(note.code);
    return all;
  }
  test::TemporaryFolder folder_;
};

TEST_F(Processes, RanksComeInTheirOrder) {
  // Ranks of a short job need not overlap.
  const auto two = shard("a", 2, 12, {5, 6}), zero = shard("b", 0, 10, {7, 8}), one = shard("c", 1, 11, {9, 10});
  const RecordedJob job = ranks_of_job({two, zero, one});
  EXPECT_THAT(job.ranks, ElementsAre(zero, one, two));
  EXPECT_THAT(job.notes, IsEmpty());
}

// Forked, or started through a process that left no shard (multiprocessing's forkserver).
TEST_F(Processes, ADataLoadersWorkerInheritsTheRankAndIsNone) {
  const auto worker = shard("a", 0, 20, {9, 14}, 3), rank = shard("b", 0, 10, {8, 15});
  const RecordedJob job = ranks_of_job({worker, rank});
  EXPECT_THAT(job.ranks, ElementsAre(rank)) << "even if the worker recorded more";
  ASSERT_THAT(codes(job), ElementsAre("helpers_left_out"));
  EXPECT_THAT(job.notes[0].message, HasSubstr("rank 0 is process 10"));
}

// A rank that waits for its helper records nothing meanwhile: the process's end counts, not its last event.
TEST_F(Processes, ARankThatEndedInOrderLivedUntilThen) {
  test::ShardBuilder builder;
  builder.header.opened_monotonic_ns = second_ns;
  builder.header.opened_realtime_ns = 5 * second_ns;
  builder.header.closed_monotonic_ns = 30 * second_ns;
  builder.header.world_size = 4;
  builder.push(1, second_ns, "work");
  builder.pop(1, 2 * second_ns);
  const auto rank = builder.write(folder_ / "a"), helper = shard("b", 0, 20, {20, 25});
  EXPECT_THAT(ranks_of_job({rank, helper}).ranks, ElementsAre(rank));
}

TEST_F(Processes, ARankThatAloneWasStartedAnew) {
  const auto other = shard("a", 1, 11, {5, 90}), first = shard("b", 0, 10, {5, 10}, 3),
             second = shard("c", 0, 30, {50, 90});
  const RecordedJob job = ranks_of_job({first, other, second});
  EXPECT_THAT(job.ranks, ElementsAre(second, other));
  ASSERT_THAT(codes(job), ElementsAre("earlier_attempts"));
  EXPECT_THAT(job.notes[0].message, HasSubstr("process 30"));
}

// A launcher that restarts all ranks with fewer ranks: ranks of the first attempt are not mixed into the second.
TEST_F(Processes, AttemptsAreNotMixed) {
  std::vector<std::filesystem::path> files, second;
  for (int rank = 0; rank < 4; ++rank)
    files.push_back(shard("a" + std::to_string(rank), rank, 10 + rank, {5, 20}, 1, 4));
  for (int rank = 0; rank < 2; ++rank) {
    second.push_back(shard("b" + std::to_string(rank), rank, 50 + rank, {30, 90}, 3, 2));
    files.push_back(second.back());
  }
  const RecordedJob job = ranks_of_job(files);
  EXPECT_EQ(job.ranks, second);
  ASSERT_THAT(codes(job), ElementsAre("earlier_attempts"));
  EXPECT_THAT(job.notes[0].message, HasSubstr("attempt 2 is used, which recorded most (2 of 2 ranks)"));
}

TEST_F(Processes, OfTwoProgramsOfAScriptTheOneThatRecordedMostCounts) {
  const auto train = shard("a", 0, 10, {5, 50}, 4, 1), evaluate = shard("b", 0, 20, {60, 70}, 1, 1);
  EXPECT_THAT(ranks_of_job({train, evaluate}).ranks, ElementsAre(train));
}

TEST_F(Processes, HelpersWithoutARankAreLeftOut) {
  const auto rank = shard("a", 0, 10), launcher = shard("b", -1, 1, {4, 90}, 3);
  const RecordedJob job = ranks_of_job({rank, launcher});
  EXPECT_THAT(job.ranks, ElementsAre(rank));
  EXPECT_THAT(codes(job), ElementsAre("unranked_left_out"));
}

TEST_F(Processes, WithoutRanksWhoRecordedMostIsTheJob) {
  const auto little = shard("a", -1, 10), much = shard("b", -1, 11, {6, 15}, 3);
  const RecordedJob job = ranks_of_job({little, much});
  EXPECT_THAT(job.ranks, ElementsAre(much));
  EXPECT_THAT(codes(job), ElementsAre("several_processes"));
  EXPECT_THAT(ranks_of_job({little}).notes, IsEmpty());
}

TEST_F(Processes, WhatIsNoShardIsSaid) {
  const auto rank = shard("a", 0, 10);
  std::ofstream(folder_ / "cut.ddps") << "DDPSHRD1";
  const RecordedJob job = ranks_of_job({folder_ / "cut.ddps", rank});
  EXPECT_THAT(job.ranks, ElementsAre(rank));
  EXPECT_THAT(codes(job), ElementsAre("shard_unusable"));
  EXPECT_THAT(ranks_of_job({folder_ / "missing.ddps"}).ranks, SizeIs(0));
}

}  // namespace
}  // namespace ddpprof::import
