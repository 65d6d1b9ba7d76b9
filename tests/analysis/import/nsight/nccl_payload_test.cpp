// The payloads of NCCL's ranges: sizes, communicators, ranks.
#include <gmock/gmock.h>

#include "analysis/import/nsight/payload.hpp"
#include "tests/analysis/import/nsight/export_file.hpp"

namespace ddpprof::import::nsight_test {
namespace {

using testing::HasSubstr;

const char* all_reduce_kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)";

// An NCCL call that launches its kernel inside its range.
void all_reduce(Export& file, std::int64_t at_ns, std::int64_t correlation, Range range) {
  range.start_ns = at_ns;
  range.end_ns = at_ns + 100;
  range.domain = 1;
  if (range.name.empty()) range.name = "ncclAllReduce";
  file.range(range);
  file.call(at_ns + 40, at_ns + 50, correlation);
  file.kernel({.start_ns = at_ns + 200,
               .end_ns = at_ns + 300,
               .stream = 20,
               .correlation = correlation,
               .name = all_reduce_kernel});
}

TEST(NcclPayload, IsReadFromBytes) {
  Export file;
  file.nccl_schemas();
  all_reduce(file, 1000, 1, {.binary = Export::all_reduce(0xfeedfacecafebeef, 4096)});
  all_reduce(file, 2000, 2, {.binary = Export::all_reduce(0x1, 8192)});
  const std::vector<ReadRank> ranks = read(file.done());
  const auto& collectives = ranks.at(0).training.shard.collectives;
  ASSERT_EQ(collectives.size(), 2U);
  EXPECT_EQ(collectives[0].bytes, 4096);
  EXPECT_EQ(collectives[1].bytes, 8192);
  EXPECT_NE(collectives[0].communicator, collectives[1].communicator);
  EXPECT_EQ(note(ranks[0], "no_payloads"), "");
}

TEST(NcclPayload, IsReadFromHexadecimalDigits) {
  Export file;
  file.nccl_schemas();
  std::vector<unsigned char> digits;
  for (const unsigned char byte : Export::all_reduce(0xabc, 12345))
    for (const int half : {byte >> 4, byte & 15})
      digits.push_back(static_cast<unsigned char>("0123456789abcdef"[half]));
  all_reduce(file, 1000, 1, {.binary = digits});
  EXPECT_EQ(read(file.done()).at(0).training.shard.collectives.at(0).bytes, 12345);
}

TEST(NcclPayload, IsReadFromJson) {
  Export file(Version::v2021);
  all_reduce(file, 1000, 1,
             {.json = R"({"NCCL communicator ID":17,"Message size [bytes]":4096,"Reduction operation":"Sum"})"});
  all_reduce(file, 2000, 2, {.json = R"([{"Message size [bytes]":"8,192"}])"});
  const auto ranks = read(file.done());
  const auto& collectives = ranks.at(0).training.shard.collectives;
  ASSERT_EQ(collectives.size(), 2U);
  EXPECT_EQ(collectives[0].bytes + collectives[1].bytes, 4096 + 8192);
}

TEST(NcclPayload, SizesThatCannotBeAreNotKnownAndThatIsSaid) {
  Export file;
  file.nccl_schemas();
  all_reduce(file, 1000, 1, {.binary = Export::all_reduce(1, UINT64_MAX)});
  all_reduce(file, 2000, 2, {.binary = Export::all_reduce(1, 4096)});
  all_reduce(file, 3000, 3, {.json = R"({"Message size [bytes]": -4})"});
  const std::vector<ReadRank> ranks = read(file.done());
  std::vector<std::int64_t> bytes;
  for (const auto& fact : ranks.at(0).training.shard.collectives) bytes.push_back(fact.bytes);
  EXPECT_THAT(bytes, testing::UnorderedElementsAre(0, 4096, 0));
  EXPECT_EQ(note_count(ranks[0], "bad_event"), 2);
  EXPECT_THAT(note(ranks[0], "bad_event"), HasSubstr("an invalid size"));
}

// The size of one rank's part times the number of ranks is the whole; if the product overflows, the size is unknown.
TEST(NcclPayload, WhatAllRanksGatherMayBeTooMuch) {
  for (const std::uint64_t part : {std::uint64_t{1} << 20, std::uint64_t{1} << 45}) {
    Export file;
    file.nccl_schemas();
    file.range({.start_ns = 10,
                .end_ns = 20,
                .name = "ncclCommInitRankConfig",
                .domain = 1,
                .binary = Export::member(7, 1 << 16, 0, 0)});
    Range range{.name = "ncclAllGather", .binary = Export::all_reduce(7, part)};
    all_reduce(file, 1000, 1, range);
    const std::vector<ReadRank> ranks = read(file.done());
    EXPECT_EQ(ranks.at(0).training.shard.collectives.at(0).bytes, part < std::uint64_t{1} << 40 ? 1LL << 36 : 0);
  }
}

TEST(NcclPayload, WithoutItSizesAreNotKnownAndThatIsSaid) {
  Export file;
  all_reduce(file, 1000, 1, {});
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(ranks.at(0).training.shard.collectives.at(0).bytes, 0);
  EXPECT_EQ(note_count(ranks[0], "no_payloads"), 1);
}

TEST(NcclPayload, OfAnUnknownSchemaOrCutOffIsCounted) {
  Export file;
  file.nccl_schemas();
  std::vector<unsigned char> cut = Export::all_reduce(1, 2);
  cut.resize(50);
  all_reduce(file, 1000, 1, {.binary = cut});
  all_reduce(file, 2000, 2, {.json = "{\"Message size"});
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(note_count(ranks.at(0), "bad_event"), 2);
  EXPECT_THAT(note(ranks[0], "bad_event"), HasSubstr("NVTX_EVENTS"));
  EXPECT_THAT(note(ranks[0], "bad_event"), HasSubstr("row 1"));
  EXPECT_EQ(ranks[0].training.shard.collectives.size(), 2U);
}

TEST(NcclPayload, OfAGroupGoesToTheKernelThatItsEndLaunches) {
  Export file;
  file.nccl_schemas();
  const auto nccl = [&](std::int64_t from_ns, std::int64_t to_ns, const char* name, std::uint64_t bytes) {
    Range range{.start_ns = from_ns, .end_ns = to_ns, .name = name, .domain = 1};
    if (bytes > 0) range.binary = Export::all_reduce(9, bytes);
    file.range(range);
  };
  nccl(1000, 1010, "ncclGroupStart", 0);
  nccl(1020, 1030, "ncclAllReduce", 1000);
  nccl(1040, 1050, "ncclAllReduce", 500);
  nccl(1060, 1100, "ncclGroupEnd", 0);
  file.call(1070, 1080, 1);
  file.kernel({.start_ns = 1200, .end_ns = 1300, .stream = 20, .correlation = 1, .name = all_reduce_kernel});
  // The same number of bytes is sent and received: one of both counts.
  nccl(2000, 2010, "ncclGroupStart", 0);
  nccl(2020, 2030, "ncclSend", 300);
  nccl(2040, 2050, "ncclRecv", 300);
  nccl(2060, 2100, "ncclGroupEnd", 0);
  file.call(2070, 2080, 2);
  file.kernel({.start_ns = 2200, .end_ns = 2300, .stream = 20, .correlation = 2, .name = "ncclDevKernel_SendRecv(x)"});
  const auto ranks = read(file.done());
  const auto& collectives = ranks.at(0).training.shard.collectives;
  ASSERT_EQ(collectives.size(), 2U);
  EXPECT_EQ(collectives[0].bytes, 1500);
  EXPECT_EQ(collectives[1].bytes, 300);
}

TEST(NcclPayload, WhatAllRanksGatherIsThatManyMessages) {
  Export file;
  file.nccl_schemas();
  file.range({.start_ns = 10,
              .end_ns = 20,
              .name = "ncclCommInitRankConfig",
              .domain = 1,
              .binary = Export::member(9, 4, 2, 0)});
  all_reduce(file, 1000, 1, {.name = "ncclAllGather", .binary = Export::all_reduce(9, 1000)});
  const auto ranks = read(file.done());
  EXPECT_EQ(ranks.at(0).training.shard.collectives.at(0).bytes, 4000);
  EXPECT_EQ(ranks[0].rank, 2);
  EXPECT_EQ(ranks[0].world_size, 4);
}

TEST(NcclRanks, AreThoseOfTheLargestCommunicator) {
  Export file;
  file.nccl_schemas();
  for (const std::uint32_t pid : {100U, 101U}) {
    const std::uint32_t device = pid - 100;
    file.kernel({.start_ns = 0, .end_ns = 100 + pid, .device = device, .pid = pid});
    const auto made = [&](std::uint64_t communicator, std::uint32_t size, std::uint32_t rank) {
      file.range({.start_ns = 0,
                  .end_ns = 1,
                  .name = "ncclCommInitRank",
                  .pid = pid,
                  .tid = pid,
                  .domain = 1,
                  .binary = Export::member(communicator, size, rank, device)});
    };
    made(7, 8, 5 - device);
    made(8, 2, device);
  }
  const std::vector<ReadRank> ranks = read(file.done());
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].rank, 5);
  EXPECT_EQ(ranks[1].rank, 4);
  EXPECT_EQ(ranks[0].world_size, 8);
  EXPECT_THAT(note(ranks[0], "ranks_of_a_file"), HasSubstr("device 0 of process 100 is rank 5 of 8"));
}

TEST(NcclRanks, ComeFromTheLaunchersEnvironmentForAFileOfOneRank) {
  Export file;
  file.kernel({.start_ns = 0, .end_ns = 100});
  file.run("CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)");
  file.run(
      "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('DeviceEnvironment', 'A=1;RANK=3;LOCAL_RANK=1;WORLD_SIZE=8;B=')");
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(ranks.at(0).rank, 3);
  EXPECT_EQ(ranks[0].world_size, 8);
}

TEST(NcclRanks, AreUnknownWhereSeveralShareAnEnvironment) {
  Export file;
  for (const std::int64_t device : {0, 1}) file.kernel({.start_ns = 0, .end_ns = 100, .device = device});
  file.run("CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)");
  file.run("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('DeviceEnvironment', 'SLURM_PROCID=3;SLURM_NTASKS=8')");
  for (const ReadRank& rank : read(file.done())) EXPECT_FALSE(rank.rank);
}

}  // namespace
}  // namespace ddpprof::import::nsight_test
