// Which processes of a recorded job are its ranks.
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

class Processes : public testing::Test {
 protected:
  // A shard of a process; `chunks`: of one thread each, how much it recorded.
  std::filesystem::path shard(const std::string& name, std::int32_t rank, std::int64_t pid, std::int64_t parent,
                              std::int64_t opened_s, int chunks = 1) {
    test::ShardBuilder builder;
    builder.header.rank = rank;
    builder.header.pid = pid;
    builder.header.parent_pid = parent;
    builder.header.opened_realtime_ns = opened_s * 1'000'000'000;
    for (int i = 0; i < chunks; ++i) {
      builder.push(100 + i, 10, "work");
      builder.pop(100 + i, 20);
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
  const auto two = shard("a", 2, 12, 1, 5), zero = shard("b", 0, 10, 1, 7), one = shard("c", 1, 11, 1, 6);
  const RecordedJob job = ranks_of_job({two, zero, one});
  EXPECT_THAT(job.ranks, ElementsAre(zero, one, two));
  EXPECT_THAT(job.notes, IsEmpty());
}

TEST_F(Processes, ADataLoadersWorkerInheritsTheRankAndIsNone) {
  const auto worker = shard("a", 0, 20, 10, 9, 3), rank = shard("b", 0, 10, 1, 8);
  const RecordedJob job = ranks_of_job({worker, rank});
  EXPECT_THAT(job.ranks, ElementsAre(rank)) << "however much the worker recorded";
  EXPECT_THAT(codes(job), ElementsAre("helpers_left_out"));
}

TEST_F(Processes, OfSeveralAttemptsTheLastCounts) {
  const auto first = shard("a", 0, 10, 1, 5, 3), second = shard("b", 0, 30, 1, 50);
  const RecordedJob job = ranks_of_job({first, second});
  EXPECT_THAT(job.ranks, ElementsAre(second));
  ASSERT_THAT(codes(job), ElementsAre("earlier_attempts"));
  EXPECT_THAT(job.notes[0].message, HasSubstr("process 30"));
}

TEST_F(Processes, HelpersWithoutARankAreLeftOut) {
  const auto rank = shard("a", 0, 10, 1, 5), launcher = shard("b", -1, 1, 0, 4, 3);
  const RecordedJob job = ranks_of_job({rank, launcher});
  EXPECT_THAT(job.ranks, ElementsAre(rank));
  EXPECT_THAT(codes(job), ElementsAre("unranked_left_out"));
}

TEST_F(Processes, WithoutRanksWhoRecordedMostIsTheJob) {
  const auto little = shard("a", -1, 10, 1, 5), much = shard("b", -1, 11, 10, 6, 3);
  const RecordedJob job = ranks_of_job({little, much});
  EXPECT_THAT(job.ranks, ElementsAre(much));
  EXPECT_THAT(codes(job), ElementsAre("several_processes"));
  EXPECT_THAT(ranks_of_job({little}).notes, IsEmpty());
}

TEST_F(Processes, WhatIsNoShardIsSaid) {
  const auto rank = shard("a", 0, 10, 1, 5);
  std::ofstream(folder_ / "cut.ddps") << "DDPSHRD1";
  const RecordedJob job = ranks_of_job({folder_ / "cut.ddps", rank});
  EXPECT_THAT(job.ranks, ElementsAre(rank));
  EXPECT_THAT(codes(job), ElementsAre("shard_unusable"));
  EXPECT_THAT(ranks_of_job({folder_ / "missing.ddps"}).ranks, SizeIs(0));
}

}  // namespace
}  // namespace ddpprof::import
