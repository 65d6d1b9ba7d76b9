// The ranks in a file, and the work of their devices.
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>

#include "analysis/import/load/import.hpp"
#include "tests/analysis/import/nsight/export_file.hpp"

namespace ddpprof::import::nsight_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(NsightDevices, ComputeAndCommunicationAreUnitedAndIntersected) {
  Export file;
  file.kernel({.start_ns = 1000, .end_ns = 2000});
  file.kernel({.start_ns = 1500, .end_ns = 3000, .stream = 8});
  file.kernel({.start_ns = 2500, .end_ns = 4000, .stream = 20, .name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"});
  file.copy(5000, 5200);
  const std::vector<ReadRank> ranks = read(file.done());
  ASSERT_EQ(ranks.size(), 1U);
  EXPECT_EQ(ranks[0].part, "");
  EXPECT_EQ(whole(ranks[0]).compute_ns, 2000);
  EXPECT_EQ(whole(ranks[0]).communication_ns, 1500);
  EXPECT_EQ(whole(ranks[0]).overlapped_ns, 500);
  EXPECT_EQ(whole(ranks[0]).memory_ns, 200);
  EXPECT_EQ(whole(ranks[0]).kernels, 2);
  EXPECT_EQ(whole(ranks[0]).collective_kernels, 1);
  EXPECT_EQ(ranks[0].backend, "nccl");
  EXPECT_EQ(ranks[0].versions.at("nsight_systems"), "2025.3.1.90");
}

TEST(NsightDevices, SendsAndReceivesAreCommunication) {
  Export file;
  file.kernel({.start_ns = 0, .end_ns = 100, .name = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096>)"});
  file.kernel({.start_ns = 200, .end_ns = 300, .name = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t"});
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(whole(ranks.at(0)).communication_ns, 200);
  EXPECT_EQ(whole(ranks.at(0)).collective_kernels, 2);
}

TEST(NsightDevices, TwoOfOneProcessAreTwoRanksWithTheSameMarks) {
  Export file;
  for (const std::int64_t device : {1, 0})
    for (std::int64_t i = 0; i < 4; ++i)
      file.kernel({.start_ns = 1000 * i + 10 * device,
                   .end_ns = 1000 * i + 500,
                   .device = device,
                   .correlation = i + 10 * device});
  for (std::int64_t i = 0; i < 4; ++i) {
    for (const std::int64_t device : {0, 1}) file.call(1000 * i - 20, 1000 * i - 10, i + 10 * device);
    file.range({.start_ns = 1000 * i - 100, .end_ns = 1000 * i + 800, .name = "step " + std::to_string(i)});
  }
  const std::vector<ReadRank> ranks = read(file.done());
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].part, "device 0 of process 100");
  EXPECT_EQ(ranks[1].part, "device 1 of process 100");
  EXPECT_NE(ranks[0].source, ranks[1].source);
  EXPECT_LT(ranks[0].source, 2U);
  EXPECT_LT(ranks[1].source, 2U);
  for (const ReadRank& rank : ranks) EXPECT_EQ(rank.training.shard.steps.size(), 4U);
  EXPECT_EQ(whole(ranks[0]).compute_ns, 4 * 500);
  EXPECT_EQ(whole(ranks[1]).compute_ns, 4 * 490);
  EXPECT_EQ(note(ranks[0], "launch_unknown") + note(ranks[1], "launch_unknown"), "");
}

std::string strategy_of(const std::filesystem::path& file) {
  const std::filesystem::path made = file.string() + ".db";
  std::string strategy;
  {
    store::Database database = store::Database::create(made, store::Replace::yes);
    ImportOptions options;
    options.files = {file};
    import_traces(database, options);
    SQLite::Statement query(database.sql(), "SELECT strategy FROM measurement");
    if (query.executeStep()) strategy = query.getColumn(0).getString();
  }
  std::filesystem::remove(made);
  return strategy;
}

TEST(NsightDevices, TwoOfOneProcessAreDataParallelOnlyIfTheyReduceGradients) {
  for (const bool reduces : {false, true}) {
    Export file;
    for (const std::int64_t device : {0, 1})
      for (std::int64_t i = 0; i < 4; ++i) {
        const std::int64_t correlation = 4 * i + 2 * device;
        file.call(1000 * i + 100, 1000 * i + 110, correlation);
        file.kernel(
            {.start_ns = 1000 * i + 120, .end_ns = 1000 * i + 500, .device = device, .correlation = correlation});
        file.call(1000 * i + 400, 1000 * i + 410, correlation + 1);
        file.kernel(
            {.start_ns = 1000 * i + 500,
             .end_ns = 1000 * i + 600,
             .device = device,
             .stream = 20,
             .correlation = correlation + 1,
             .name = reduces ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)" : "ncclDevKernel_Broadcast_RING_LL(x)"});
      }
    for (std::int64_t i = 0; i < 4; ++i) {
      file.range({.start_ns = 1000 * i, .end_ns = 1000 * i + 900, .name = "step " + std::to_string(i)});
      file.range({.start_ns = 1000 * i + 50, .end_ns = 1000 * i + 300, .name = "forward"});
      file.range({.start_ns = 1000 * i + 300, .end_ns = 1000 * i + 700, .name = "backward"});
    }
    EXPECT_EQ(strategy_of(file.done()), reduces ? "ddp" : "other");
  }
}

TEST(NsightDevices, TwoProcessesAreTwoRanksWithTheirOwnCorrelations) {
  Export file;
  for (const std::int64_t pid : {200, 100}) {
    file.kernel({.start_ns = 1000, .end_ns = 1000 + pid, .device = pid == 100 ? 0 : 1, .pid = pid, .correlation = 1});
    file.call(pid, pid + 10, 1, pid);
    file.range({.start_ns = 50, .end_ns = 3000, .name = "iteration 5", .pid = pid, .tid = pid});
  }
  // A data loader's worker has calls, but no kernel.
  file.range({.start_ns = 0, .end_ns = 10, .name = "load", .pid = 300, .tid = 300});
  const std::vector<ReadRank> ranks = read(file.done());
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].part, "device 0 of process 100");
  EXPECT_EQ(ranks[1].part, "device 1 of process 200");
  EXPECT_EQ(whole(ranks[0]).compute_ns, 100);
  EXPECT_EQ(whole(ranks[1]).compute_ns, 200);
  EXPECT_EQ(note_count(ranks[0], "host_events_elsewhere"), 1);
}

TEST(NsightDevices, ProcessesThatEachSeeOneDeviceAreTheirDevicesInOrderOfProcess) {
  Export file;
  for (const std::int64_t pid : {900, 800}) file.kernel({.start_ns = 0, .end_ns = pid, .pid = pid});
  const std::vector<ReadRank> ranks = read(file.done());
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(whole(ranks[0]).compute_ns, 800);
  EXPECT_EQ(whole(ranks[1]).compute_ns, 900);
}

TEST(NsightDevices, KernelsOfAGraphShareTheirLaunch) {
  Export file;
  for (std::int64_t i = 0; i < 5; ++i)
    file.kernel({.start_ns = 1000 + 100 * i, .end_ns = 1050 + 100 * i, .correlation = 77});
  file.call(900, 950, 77);
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(whole(ranks.at(0)).compute_ns, 250);
  EXPECT_EQ(note(ranks[0], "launch_unknown"), "");
}

TEST(NsightDevices, GraphsRecordedAsAWholeComputeAndThatIsSaid) {
  Export file;
  file.kernel({.start_ns = 0, .end_ns = 100});
  file.run("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER)");
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (200, 900, 0), (1000, 1500, 0)");
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_EQ(note_count(ranks.at(0), "graphs_as_a_whole"), 2);
  EXPECT_EQ(whole(ranks[0]).compute_ns, 100 + 700 + 500);
  EXPECT_EQ(whole(ranks[0]).busy_ns, 1300);
}

TEST(NsightDevices, NamesComeFromTheDeviceThatTheProcessNumbered) {
  Export file;
  file.kernel({.start_ns = 0, .end_ns = 100, .device = 0, .pid = 100});
  file.kernel({.start_ns = 0, .end_ns = 100, .device = 0, .pid = 101});
  file.run("CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT)");
  file.run("INSERT INTO TARGET_INFO_GPU VALUES (0, 'first'), (1, 'second')");
  file.run("CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER)");
  file.run("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100), (1, 0, 101)");
  const std::vector<ReadRank> ranks = read(file.done());
  EXPECT_THAT(ranks.at(0).devices, ElementsAre("first"));
  EXPECT_THAT(ranks.at(1).devices, ElementsAre("second"));
}

TEST(NsightDevices, TimesSince1970NeedTheSessionsStart) {
  Export file;
  file.kernel({.start_ns = 30'000, .end_ns = 30'100});
  file.run("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)");
  file.run("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000)");
  file.run("CREATE TABLE ANALYSIS_DETAILS (startTime INTEGER)");
  file.run("INSERT INTO ANALYSIS_DETAILS VALUES (20000)");
  EXPECT_EQ(read(file.done()).at(0).base_ns, 1'700'000'000'000'000'000 - 20'000);
}

}  // namespace
}  // namespace ddpprof::import::nsight_test
