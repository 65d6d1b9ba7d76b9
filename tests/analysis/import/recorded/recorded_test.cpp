// A recorded job of a user as a measurement: steps, phases, devices, NCCL's messages, hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/import/load/imported.hpp"
#include "tests/store/shard_builder.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;
using trace::RecordType;

constexpr std::int64_t ms = 1'000'000, second = 1'000 * ms;
constexpr std::uint32_t nvtx_uint64 = 18;  // NVTX_PAYLOAD_ENTRY_TYPE_UINT64

class Recorded : public testing::Test {
 protected:
  // Five steps of 10 ms: forward 2, backward 5, optimizer 1; thread 7.
  static test::ShardBuilder training(std::int32_t rank, std::int32_t world_size, std::int64_t from_ns = second) {
    test::ShardBuilder shard;
    shard.header.rank = rank;
    shard.header.world_size = world_size;
    shard.header.pid = 100 + rank;
    shard.header.opened_monotonic_ns = from_ns - 1;
    shard.header.opened_realtime_ns = 1'700'000'000 * second + from_ns - 1;
    for (std::int64_t step = 0; step < 5; ++step) {
      const std::int64_t t = from_ns + 10 * ms * step;
      shard.push(7, t, "step " + std::to_string(step));
      shard.push(7, t, "forward");
      shard.pop(7, t + 2 * ms);
      shard.push(7, t + 2 * ms, "backward");
      shard.pop(7, t + 7 * ms);
      shard.push(7, t + 7 * ms, "optimizer");
      shard.pop(7, t + 8 * ms);
      shard.pop(7, t + 9 * ms);
    }
    return shard;
  }

  static void add_kernel(test::ShardBuilder& shard, const char* name, std::int64_t start_ns, std::int64_t end_ns,
                         std::uint32_t stream, std::uint32_t correlation) {
    trace::KernelRecord kernel{};
    kernel.header.name_id = shard.text(name);
    kernel.header.time_ns = start_ns;
    kernel.end_ns = end_ns;
    kernel.stream = stream;
    kernel.correlation_id = correlation;
    for (int i = 0; i < 3; ++i) kernel.grid[i] = kernel.block[i] = 2;
    shard.add(9, RecordType::kernel, kernel);
    trace::ApiRecord call{};
    call.header.time_ns = start_ns - 100'000;
    call.end_ns = start_ns - 90'000;
    call.domain = 2;
    call.cbid = 211;
    call.thread = 7;
    call.correlation_id = correlation;
    shard.add(10, RecordType::api_call, call);
  }

  static std::vector<std::int64_t> column(store::Database& database, const std::string& sql) {
    SQLite::Statement query(database.sql(), sql);
    std::vector<std::int64_t> values;
    while (query.executeStep()) values.push_back(query.getColumn(0).getInt64());
    return values;
  }

  Imported import_shards(std::vector<test::ShardBuilder> shards, ImportOptions options = {}) {
    std::vector<std::filesystem::path> files;
    for (std::size_t i = 0; i < shards.size(); ++i)
      files.push_back(shards[i].write(folder_.path() / ("shard-" + std::to_string(i) + ".ddps")));
    database_.emplace(store::Database::create(folder_.path() / "made.db", store::Replace::yes));
    options.files = files;
    return import_into(*database_, options);
  }

  Folder folder_;
  std::optional<store::Database> database_;
};

TEST_F(Recorded, RangesBecomeStepsAndPhases) {
  const Imported imported = import_shards({training(0, 2), training(1, 2)});
  ASSERT_EQ(imported.error, "");
  EXPECT_EQ(imported.result.ranks, 2);
  EXPECT_EQ(imported.result.world_size, 2);
  EXPECT_EQ(imported.result.steps, 10);
  EXPECT_EQ(imported.rows.at("range"), 2 * 5 * 4);
  EXPECT_EQ(column(*database_, "SELECT DISTINCT forward_ns FROM step"), (std::vector<std::int64_t>{2 * ms}));
  EXPECT_EQ(column(*database_, "SELECT DISTINCT backward_ns FROM step"), (std::vector<std::int64_t>{5 * ms}));
  EXPECT_EQ(column(*database_, "SELECT DISTINCT optimizer_ns FROM step"), (std::vector<std::int64_t>{1 * ms}));
  EXPECT_EQ(column(*database_, "SELECT pid FROM shard ORDER BY rank"), (std::vector<std::int64_t>{100, 101}));
  EXPECT_EQ(column(*database_, "SELECT started_utc_ns FROM measurement"),
            (std::vector<std::int64_t>{1'700'000'000 * second + second}));
}

// One boot id is one clock. The clocks of two hosts are not aligned, because no collective was recorded.
TEST_F(Recorded, HostsAreTheirBootIds) {
  import_shards({training(0, 2), training(1, 2)});
  EXPECT_EQ(column(*database_, "SELECT nodes FROM measurement"), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(column(*database_, "SELECT count(*) FROM shard WHERE clock_reference = 'same-clock'"),
            (std::vector<std::int64_t>{2}));
  test::ShardBuilder elsewhere = training(1, 2);
  elsewhere.header.boot_id = "22222222-2222-2222-2222-222222222222";
  import_shards({training(0, 2), elsewhere});
  EXPECT_EQ(column(*database_, "SELECT nodes FROM measurement"), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(column(*database_, "SELECT count(*) FROM shard WHERE clock_reference = 'same-clock'"),
            (std::vector<std::int64_t>{1}));
}

// Gloo annotates nothing: the job's own ranges mark its messages, with the bytes as payload or after the name.
TEST_F(Recorded, MessagesThatTheJobItselfTellsOf) {
  std::vector<test::ShardBuilder> shards;
  for (const std::int32_t rank : {0, 1}) {
    test::ShardBuilder shard = training(rank, 2);
    std::uint64_t id = 0;
    const auto message = [&](std::string_view name, std::uint64_t bytes, std::int64_t start_ns, std::int64_t end_ns) {
      trace::RangeStartRecord start{};
      start.event = shard.event(start_ns, name);
      start.event.payload_kind = bytes == 0 ? trace::PayloadKind::none : trace::PayloadKind::int64;
      start.event.payload = bytes;
      start.range_id = ++id;
      shard.add(7, RecordType::range_start, start);
      trace::RangeEndRecord end{};
      end.header.time_ns = end_ns;
      end.range_id = id;
      shard.add(8, RecordType::range_end, end);  // Gloo's own thread
    };
    for (std::int64_t step = 0; step < 5; ++step) {
      const std::int64_t t = second + 10 * ms * step;
      message("gloo:all_reduce", 4096, t + 3 * ms + rank * ms, t + 5 * ms);
      message("gloo:all_reduce 8192", 0, t + 4 * ms, t + 6 * ms);
      message("gloo: other text", 1, t, t + ms);  // not a collective
    }
    shards.push_back(std::move(shard));
  }
  const Imported imported = import_shards(std::move(shards));
  ASSERT_EQ(imported.error, "");
  EXPECT_EQ(column(*database_,
                   "SELECT bytes FROM collective WHERE shard_id = 1 AND step_id IS NOT NULL ORDER BY "
                   "sequence LIMIT 4"),
            (std::vector<std::int64_t>{4096, 8192, 4096, 8192}));
  EXPECT_EQ(column(*database_, "SELECT count(*) FROM collective WHERE op = 'all_reduce'"),
            (std::vector<std::int64_t>{20}));
  EXPECT_EQ(column(*database_, "SELECT count(*) FROM measurement WHERE backend = 'gloo' AND device = 'cpu'"),
            (std::vector<std::int64_t>{1}));
  // Rank 0 began the first one a millisecond early: its waiting for rank 1 is not transfer.
  EXPECT_EQ(column(*database_, "SELECT DISTINCT transfer_ns FROM collective WHERE bytes = 4096"),
            (std::vector<std::int64_t>{ms}));
  EXPECT_EQ(column(*database_, "SELECT DISTINCT skew_ns FROM collective WHERE bytes = 4096 ORDER BY 1"),
            (std::vector<std::int64_t>{0, ms}));
  EXPECT_EQ(column(*database_, "SELECT DISTINCT communication_ns FROM step ORDER BY 1"),
            (std::vector<std::int64_t>{2 * ms, 3 * ms}));
}

TEST_F(Recorded, DevicesAndTheMessagesThatNcclNames) {
  std::vector<test::ShardBuilder> shards;
  for (const std::int32_t rank : {0, 1}) {
    test::ShardBuilder shard = training(rank, 2);
    shard.domain(3, "NCCL");
    shard.schema(3, 1U << 24, "ncclAllReduce",
                 {{"NCCL communicator ID", nvtx_uint64, 0}, {"Message size [bytes]", nvtx_uint64, 8}});
    for (std::int64_t step = 0; step < 5; ++step) {
      const std::int64_t t = second + 10 * ms * step;
      const auto number = static_cast<std::uint32_t>(10 * step);
      add_kernel(shard, "gemm", t + 1 * ms, t + 6 * ms, 7, number + 1);
      // The launch lies in NCCL's range; rank 1 begins half a millisecond later.
      const std::int64_t start = t + 5 * ms + rank * ms / 2;
      trace::EventRecord push = shard.event(start - 200'000, "ncclAllReduce", 3);
      push.payload_kind = trace::PayloadKind::extended;
      push.payload = 1U << 24;
      const std::uint64_t payload[2] = {0xabcdef, 4096};
      shard.add(7, RecordType::push, push, test::ShardBuilder::extended(payload));
      shard.pop(7, start - 50'000, 3);
      add_kernel(shard, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", start, t + 7 * ms,
                 9, number + 2);
    }
    shards.push_back(std::move(shard));
  }
  const Imported imported = import_shards(std::move(shards));
  ASSERT_EQ(imported.error, "");
  EXPECT_EQ(imported.rows.at("kernel"), 20);
  EXPECT_EQ(imported.rows.at("api_call"), 20);
  EXPECT_EQ(column(*database_, "SELECT count(*) FROM api_call WHERE name_id IS NULL AND cbid = 211"),
            (std::vector<std::int64_t>{20}))
      << "a function known only by its number has no name";
  const DeviceTotals& rank_0 = imported.totals.at(0).at("all");
  EXPECT_EQ(rank_0.compute_ns, 25 * ms);
  EXPECT_EQ(rank_0.communication_ns, 10 * ms);
  EXPECT_EQ(rank_0.overlapped_ns, 5 * ms);
  EXPECT_EQ(column(*database_, "SELECT DISTINCT bytes FROM collective"), (std::vector<std::int64_t>{4096}));
  EXPECT_EQ(column(*database_, "SELECT count(*) FROM collective WHERE op = 'all_reduce'"),
            (std::vector<std::int64_t>{10}));
  EXPECT_EQ(column(*database_, "SELECT DISTINCT transfer_ns FROM collective"), (std::vector<std::int64_t>{3 * ms / 2}));
  EXPECT_EQ(column(*database_,
                   "SELECT DISTINCT c.skew_ns FROM collective c JOIN shard s ON s.id = c.shard_id WHERE "
                   "s.rank = 0"),
            (std::vector<std::int64_t>{ms / 2}))
      << "rank 0 waits for rank 1";
}

TEST_F(Recorded, AKilledProcessKeepsWhatItHadRecorded) {
  test::ShardBuilder killed = training(0, 1);
  killed.header.closed = false;
  killed.push(7, 2 * second, "step 5");
  const Imported imported = import_shards({std::move(killed)});
  ASSERT_EQ(imported.error, "");
  EXPECT_EQ(imported.result.steps, 5);
  EXPECT_TRUE(imported.told.contains("unclosed_shard"));
  EXPECT_TRUE(imported.told.contains("unbalanced_ranges"));
}

TEST_F(Recorded, WhatWasLostIsTold) {
  test::ShardBuilder shard = training(0, 1);
  shard.header.dropped_records = 12;
  const Imported imported = import_shards({std::move(shard)});
  ASSERT_TRUE(imported.told.contains("dropped_records"));
  EXPECT_EQ(imported.told.find("dropped_records")->second.count, 12);
}

TEST_F(Recorded, WithoutNumbersAndNamesRepetitionTells) {
  test::ShardBuilder shard;
  for (std::int64_t i = 0; i < 6; ++i) {
    shard.push(7, second + 10 * ms * i, "work");
    shard.pop(7, second + 10 * ms * i + 9 * ms);
  }
  const Imported imported = import_shards({std::move(shard)});
  EXPECT_EQ(imported.result.steps, 6);
  ASSERT_TRUE(imported.told.contains("steps_by_repetition"));
  EXPECT_THAT(imported.told.find("steps_by_repetition")->second.message, HasSubstr("\"work\""));
}

TEST_F(Recorded, AProcessWithoutEventsIsNoJob) {
  const Imported imported = import_shards({test::ShardBuilder()});
  EXPECT_THAT(imported.error, HasSubstr("recorded no event"));
}

TEST_F(Recorded, TracesAndShardsAreToldApartByTheirBytes) {
  const auto shard = training(0, 1).write(folder_.path() / "renamed.json");
  EXPECT_EQ(kind_of(shard), FileKind::shard);
  const Imported imported = import_files(folder_, {shard});
  EXPECT_EQ(imported.result.steps, 5);
  training(0, 1).write(folder_.path() / "shard-0-1.ddps");
  EXPECT_EQ(expand_inputs({folder_.path().string()}).size(), 2U);
}

}  // namespace
}  // namespace ddpprof::import
