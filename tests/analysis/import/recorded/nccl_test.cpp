// Records of NCCL's profiler plugin in a recorded job: each collective's algorithm, protocol, channels and number.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/analysis/import/load/imported.hpp"
#include "tests/store/nccl_records.hpp"

namespace ddpprof::import {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using trace::RecordType;

constexpr std::int64_t us = 1'000, ms = 1'000'000, second = 1'000 * ms;
constexpr std::uint32_t nvtx_uint64 = 18;  // NVTX_PAYLOAD_ENTRY_TYPE_UINT64
constexpr std::int64_t steps = 5;

std::int64_t step_at(std::int64_t step) { return second + 10 * ms * step; }

class RecordedNccl : public testing::Test {
 protected:
  static test::ShardBuilder training(std::int32_t rank) {
    test::ShardBuilder shard;
    shard.header.rank = rank;
    shard.header.world_size = 2;
    shard.header.pid = 100 + rank;
    shard.header.opened_monotonic_ns = second - 1;
    shard.header.opened_realtime_ns = 1'700'000'000 * second + second - 1;
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t t = step_at(step);
      shard.push(7, t, "step " + std::to_string(step));
      shard.push(7, t, "forward");
      shard.pop(7, t + 2 * ms);
      shard.push(7, t + 2 * ms, "backward");
      shard.pop(7, t + 7 * ms);
      shard.push(7, t + 7 * ms, "optimizer");
      shard.pop(7, t + 8 * ms);
      shard.pop(7, t + 9 * ms);
    }
    test::add_communicator(shard, 1, 0xabc, 2);
    return shard;
  }

  static void add_kernel(test::ShardBuilder& shard, const char* name, std::int64_t launch_ns, std::int64_t start_ns,
                         std::int64_t end_ns, std::uint32_t correlation) {
    trace::KernelRecord kernel{};
    kernel.header.name_id = shard.text(name);
    kernel.header.time_ns = start_ns;
    kernel.end_ns = end_ns;
    kernel.stream = 9;
    kernel.correlation_id = correlation;
    for (int i = 0; i < 3; ++i) kernel.grid[i] = kernel.block[i] = 2;
    shard.add(9, RecordType::kernel, kernel);
    trace::ApiRecord call{};
    call.header.time_ns = launch_ns;
    call.end_ns = launch_ns + 10 * us;
    call.domain = 2;
    call.cbid = 211;
    call.thread = 7;
    call.correlation_id = correlation;
    shard.add(10, RecordType::api_call, call);
  }

  // Two all-reduces a step, launched at 3 and 4 ms. NCCL reports each directly after its launch.
  static void add_step(test::ShardBuilder& shard, std::int64_t step) {
    const std::int64_t t = step_at(step);
    const auto number = static_cast<std::uint32_t>(10 * step);
    add_kernel(shard, "gemm", t + ms, t + ms, t + 6 * ms, number + 3);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const std::int64_t launch_ns = t + 3 * ms + i * ms;
      add_kernel(shard, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", launch_ns, launch_ns + ms / 2,
                 launch_ns + ms / 2 + 300 * us, number + 1 + i);
      const auto sequence = static_cast<std::uint64_t>(2 * step + i);
      test::add_operation(shard, {.time_ns = launch_ns + 20 * us,
                                  .operation = 100 + sequence,
                                  .group = 200 + sequence,
                                  .sequence = sequence,
                                  .count = i == 0 ? 1000u : 8u,
                                  .algorithm = i == 0 ? "RING" : "TREE",
                                  .protocol = i == 0 ? "SIMPLE" : "LL",
                                  .channels = static_cast<std::uint16_t>(i == 0 ? 24 : 2)});
    }
  }

  Imported import_shards(const std::vector<test::ShardBuilder>& shards) {
    std::vector<std::filesystem::path> files;
    for (std::size_t i = 0; i < shards.size(); ++i)
      files.push_back(shards[i].write(folder_.path() / ("shard-" + std::to_string(i) + ".ddps")));
    return import_files(files);
  }
  Imported import_files(const std::vector<std::filesystem::path>& files) {
    database_.emplace(store::Database::create(folder_.path() / "made.db", store::Replace::yes));
    ImportOptions options;
    options.files = files;
    return import_into(*database_, options);
  }
  std::vector<std::string> texts(const std::string& sql) {
    SQLite::Statement query(database_->sql(), sql);
    std::vector<std::string> values;
    while (query.executeStep()) values.push_back(query.getColumn(0).isNull() ? "NULL" : query.getColumn(0).getString());
    return values;
  }
  std::vector<std::string> codes() { return texts("SELECT code FROM diagnostic ORDER BY code"); }

  Folder folder_;
  std::optional<store::Database> database_;
};

TEST_F(RecordedNccl, KernelsGetWhatNcclChose) {
  std::vector<test::ShardBuilder> shards{training(0), training(1)};
  for (test::ShardBuilder& shard : shards)
    for (std::int64_t step = 0; step < steps; ++step) add_step(shard, step);
  ASSERT_EQ(import_shards(shards).error, "");
  EXPECT_THAT(
      texts("SELECT DISTINCT bytes || ' ' || datatype || ' ' || algorithm || '/' || protocol || ' ' || channels "
            "FROM collective ORDER BY 1"),
      ElementsAre("32 float32 TREE/LL 2", "4000 float32 RING/SIMPLE 24"));
  EXPECT_THAT(texts("SELECT sequence FROM collective WHERE shard_id = 1 ORDER BY start_ns"),
              ElementsAre("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
  EXPECT_THAT(codes(), Not(Contains("nccl_disagrees")));
}

// Rank 1's recording began two steps late. By NCCL's own numbers its collectives are still matched with rank 0's.
TEST_F(RecordedNccl, RanksMeetByNcclsNumbers) {
  std::vector<test::ShardBuilder> shards{training(0), training(1)};
  for (std::int64_t step = 0; step < steps; ++step) add_step(shards[0], step);
  for (std::int64_t step = 2; step < steps; ++step) add_step(shards[1], step);
  ASSERT_EQ(import_shards(shards).error, "");
  EXPECT_THAT(texts("SELECT count(*) FROM collective WHERE shard_id = 1 AND transfer_ns IS NOT NULL"),
              ElementsAre("6"));
  EXPECT_THAT(texts("SELECT min(sequence) FROM collective WHERE shard_id = 2"), ElementsAre("4"));
  EXPECT_THAT(
      texts("SELECT DISTINCT a.algorithm = b.algorithm FROM collective a JOIN collective b ON a.shard_id = 1 AND "
            "b.shard_id = 2 AND a.communicator = b.communicator AND a.sequence = b.sequence"),
      ElementsAre("1"));
}

// Rank 0 recorded two broadcasts that rank 1, whose recording began a step late, did not, and that do not repeat: as
// many as a step has all-reduces.
TEST_F(RecordedNccl, RanksMeetThoughOneSawWhatTheOtherNeverDid) {
  std::vector<test::ShardBuilder> shards{training(0), training(1)};
  const std::int64_t before = second - 5 * ms;
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::int64_t launch_ns = before + i * ms;
    add_kernel(shards[0], "ncclDevKernel_Broadcast_RING_LL(x)", launch_ns, launch_ns + 100 * us, launch_ns + 200 * us,
               900 + i);
    test::add_operation(shards[0], {.time_ns = launch_ns + 20 * us,
                                    .operation = 900 + i,
                                    .group = 900 + i,
                                    .sequence = i,
                                    .count = 64,
                                    .function = "Broadcast"});
  }
  for (std::int64_t step = 0; step < steps; ++step) add_step(shards[0], step);
  for (std::int64_t step = 1; step < steps; ++step) add_step(shards[1], step);
  ASSERT_EQ(import_shards(shards).error, "");
  EXPECT_THAT(
      texts("SELECT max(abs(a.start_ns - b.start_ns)) || ' ' || count(*) FROM collective a JOIN collective b ON "
            "a.shard_id = 1 AND b.shard_id = 2 AND a.communicator = b.communicator AND a.sequence = b.sequence"),
      ElementsAre("0 8"));
}

// Rank 1's numbers are not NCCL's, because a number occurred twice. So both ranks are numbered by step, in the order of
// time.
TEST_F(RecordedNccl, RanksOfWhichOneHasNoNumbersMeetByTheirSteps) {
  std::vector<test::ShardBuilder> shards{training(0), training(1)};
  for (std::size_t rank = 0; rank < 2; ++rank)
    for (std::int64_t step = 0; step < steps; ++step) {
      const auto id = static_cast<std::uint32_t>(900 + step);
      const std::int64_t launch_ns = step_at(step) + ms;  // before the step's all-reduces
      add_kernel(shards[rank], "ncclDevKernel_Broadcast_RING_LL(x)", launch_ns, launch_ns + 100 * us,
                 launch_ns + 200 * us, id);
      test::add_operation(shards[rank], {.time_ns = launch_ns + 20 * us,
                                         .operation = id,
                                         .group = id,
                                         .sequence = rank == 0 ? static_cast<std::uint64_t>(step) : 0,
                                         .count = 64,
                                         .function = "Broadcast"});
      add_step(shards[rank], step);
    }
  ASSERT_EQ(import_shards(shards).error, "");
  EXPECT_THAT(
      texts("SELECT max(abs(a.start_ns - b.start_ns)) || ' ' || count(*) FROM collective a JOIN collective b ON "
            "a.shard_id = 1 AND b.shard_id = 2 AND a.communicator = b.communicator AND a.sequence = b.sequence"),
      ElementsAre("0 15"));
  EXPECT_THAT(codes(), Not(Contains("collectives_unlike")));
}

// Numbers are kept per function. A group's operations are executed by one kernel and keep what they have in common.
TEST_F(RecordedNccl, GroupsAndSeveralFunctionsAreToldApart) {
  test::ShardBuilder shard = training(0);
  const std::int64_t t = step_at(0);
  add_kernel(shard, "ncclDevKernel_Broadcast_RING_LL(x)", t + ms, t + 2 * ms, t + 3 * ms, 1);
  test::add_operation(shard, {.time_ns = t + ms + us,
                              .operation = 1,
                              .group = 1,
                              .sequence = 7,
                              .count = 64,
                              .function = "Broadcast",
                              .datatype = "ncclInt8"});
  add_kernel(shard, "ncclDevKernel_AllGather_RING_LL(x)", t + 4 * ms, t + 5 * ms, t + 6 * ms, 2);
  for (const std::uint64_t i : {0u, 1u})
    test::add_operation(shard, {.time_ns = t + 4 * ms + us,
                                .operation = 2 + i,
                                .group = 2,
                                .sequence = 3 + i,
                                .count = 100,
                                .function = "AllGather",
                                .datatype = "ncclInt8",
                                .algorithm = i == 0 ? "RING" : "TREE"});
  // Captured by a graph just before the next launch, which belongs to another kernel.
  test::add_operation(shard, {.time_ns = t + 6 * ms,
                              .operation = 8,
                              .group = 8,
                              .communicator = 2,
                              .sequence = 0,
                              .count = 5,
                              .flags = trace::nccl_captured});
  add_kernel(shard, "ncclDevKernel_SendRecv(x)", t + 6 * ms + us, t + 7 * ms, t + 8 * ms, 3);
  for (const char* function : {"Send", "Recv"})
    test::add_operation(shard, {.time_ns = t + 6 * ms + 2 * us,
                                .operation = 9,
                                .group = 9,
                                .count = 10,
                                .function = function,
                                .algorithm = "",
                                .protocol = "",
                                .channels = 0,
                                .flags = trace::nccl_point_to_point});
  ASSERT_EQ(import_shards({shard}).error, "");
  EXPECT_THAT(texts("SELECT op || ' ' || bytes || ' ' || COALESCE(algorithm, '-') || ' ' || COALESCE(protocol, '-') "
                    "FROM collective ORDER BY start_ns"),
              ElementsAre("broadcast 64 RING LL", "all_gather 400 - LL", "send 40 - -"))
      << "all ranks gather twice a rank's share";
}

TEST_F(RecordedNccl, ADisagreementWithTheRangesIsSaid) {
  for (const std::uint64_t bytes_of_range : {4000u, 4096u}) {
    test::ShardBuilder shard = training(0);
    shard.domain(3, "NCCL");
    shard.schema(3, 1U << 24, "ncclAllReduce",
                 {{"NCCL communicator ID", nvtx_uint64, 0}, {"Message size [bytes]", nvtx_uint64, 8}});
    for (std::int64_t step = 0; step < steps; ++step) {
      add_step(shard, step);
      trace::EventRecord push = shard.event(step_at(step) + 3 * ms - us, "ncclAllReduce", 3);
      push.payload_kind = trace::PayloadKind::extended;
      push.payload = 1U << 24;
      const std::uint64_t payload[2] = {0xabc, bytes_of_range};
      shard.add(7, RecordType::push, push, test::ShardBuilder::extended(payload));
      shard.pop(7, step_at(step) + 3 * ms + 50 * us, 3);
    }
    const Imported imported = import_shards({shard});
    ASSERT_EQ(imported.error, "");
    EXPECT_THAT(texts("SELECT count FROM diagnostic WHERE code = 'nccl_disagrees'"),
                bytes_of_range == 4000 ? testing::Matcher<std::vector<std::string>>(IsEmpty()) : ElementsAre("5"));
    EXPECT_THAT(texts("SELECT DISTINCT bytes FROM collective WHERE algorithm = 'RING'"), ElementsAre("4000"));
  }
}

// No kernel was recorded. The GPU's timer is 7 s ahead of the host's clock. Channel 1 ended last, and its end was
// observed 5 us late, which is the earliest observation.
TEST_F(RecordedNccl, WithoutCuptiChannelsTellTheTimes) {
  test::ShardBuilder shard = training(0);
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t t = step_at(step);
    const auto id = static_cast<std::uint64_t>(step + 1);
    test::add_operation(shard, {.time_ns = t + 3 * ms, .operation = id, .group = id, .sequence = id, .count = 1000});
    const auto gpu = [&](std::int64_t host_ns) { return static_cast<std::uint64_t>(host_ns + 7 * second); };
    test::add_channel(shard, 10 * id, id, gpu(t + 4 * ms), gpu(t + 5 * ms), t + 4 * ms + 40 * us, t + 5 * ms + 30 * us);
    test::add_channel(shard, 10 * id + 1, id, gpu(t + 4 * ms + us), gpu(t + 6 * ms), t + 4 * ms + 50 * us,
                      t + 6 * ms + 5 * us);
  }
  ASSERT_EQ(import_shards({shard}).error, "");
  EXPECT_THAT(texts("SELECT end_ns - start_ns FROM collective"), SizeIs(5));
  EXPECT_THAT(texts("SELECT end_ns - start_ns FROM collective"), Each("2000000"));
  EXPECT_THAT(texts("SELECT min(start_ns) FROM collective"), ElementsAre(std::to_string(step_at(0) + 4 * ms + 5 * us)));
  EXPECT_THAT(texts("SELECT DISTINCT launch_ns < start_ns FROM collective"), ElementsAre("1"));
  EXPECT_THAT(texts("SELECT count FROM diagnostic WHERE code = 'nccl_channel_times'"), ElementsAre("5"));
  EXPECT_THAT(texts("SELECT device || ' ' || backend FROM measurement"), ElementsAre("cuda nccl"));
}

class RecordedByTheDriver : public RecordedNccl, public testing::WithParamInterface<int> {};

// Two processes that call the plugin like NCCL of each version, and the resulting database.
TEST_P(RecordedByTheDriver, BecomesADatabase) {
  const std::filesystem::path shards = folder_.path() / "shards";
  for (const char* rank : {"0", "1"}) {
    const std::string command = fmt::format(
        "RANK={} WORLD_SIZE=2 DDPPROF_TRACE_DIR='{}' NVTX_INJECTION64_PATH='{}' timeout 60 '{}' train {} '{}'", rank,
        shards.string(), TRACER_LIBRARY, NCCL_DRIVER, GetParam(), TRACER_LIBRARY);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(shards)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  const Imported imported = import_files(files);
  ASSERT_EQ(imported.error, "");
  EXPECT_EQ(imported.result.steps, 8);
  if (GetParam() < 4) {  // without times of the GPU, start and end of collectives are unknown
    EXPECT_THAT(texts("SELECT 1 FROM collective"), IsEmpty());
    return;
  }
  EXPECT_THAT(
      texts("SELECT bytes || ' ' || datatype || ' ' || algorithm || '/' || protocol || ' ' || channels || ' ' || "
            "(end_ns - start_ns) FROM collective WHERE shard_id = 1 ORDER BY sequence LIMIT 4"),
      ElementsAre("4000000 float32 RING/LL128 24 1000000", "2000000 float32 RING/LL128 24 500000",
                  "4000 float32 TREE/LL 24 1000", "4000000 float32 RING/LL128 24 1000000"));
  EXPECT_THAT(
      texts("SELECT count(DISTINCT sequence) || ' ' || count(DISTINCT communicator) || ' ' || max(sequence) FROM "
            "collective"),
      ElementsAre("12 1 11"));
  EXPECT_THAT(texts("SELECT count(*) FROM collective WHERE transfer_ns IS NOT NULL"), ElementsAre("24"));
  EXPECT_THAT(texts("SELECT count(*) FROM collective WHERE step_id IS NOT NULL AND op = 'all_reduce'"),
              ElementsAre("24"));
}

INSTANTIATE_TEST_SUITE_P(Versions, RecordedByTheDriver, testing::Range(1, 7),
                         [](const auto& version) { return "V" + std::to_string(version.param); });

}  // namespace
}  // namespace ddpprof::import
