// The Nsight-format export, queried through plain SQLite like its readers do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "analysis/export/export.hpp"
#include "analysis/import/load/import.hpp"
#include "analysis/import/load/own_export.hpp"
#include "tests/analysis/export/nsys_queries.hpp"
#include "tests/analysis/export/nsys_recorded.hpp"

namespace ddpprof {
namespace {

namespace fs = std::filesystem;
using test::rows;
using testing::ElementsAre;

class NsysExport : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ddpprof_nsys_export_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    file_ = folder_ / "training.sqlite";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void export_training() {
    store::Database database = test::recorded_training(folder_ / "training.db");
    summary_ = export_::export_nsys(database, file_);
  }

  fs::path folder_, file_;
  export_::NsysSummary summary_;
};

TEST_F(NsysExport, KernelsByTheirNames) {
  export_training();
  EXPECT_EQ(summary_.files, 1);
  EXPECT_EQ(summary_.kernels, 5);
  EXPECT_EQ(summary_.events, 5 + 3 + 6 + 7) << "kernels, copies, calls, ranges";
  // add: 1000 + 200 + 1000 of rank 0, 1000 of rank 1
  EXPECT_THAT(rows(file_, test::ask::kernels_by_name),
              ElementsAre("add(float*)|4|3200|200|1000", std::string(test::nccl_kernel) + "|1|3000|3000|3000"));
  EXPECT_THAT(rows(file_, test::ask::kernels_by_short_name),
              ElementsAre("add|8|128|32|4|1024", "ncclDevKernel_AllReduce_Sum_f32_RING_LL|24|512|96|1|0"));
  EXPECT_THAT(rows(file_,
                   "SELECT DISTINCT s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = "
                   "k.mangledName"),
              ElementsAre(test::add_mangled));
}

TEST_F(NsysExport, CopiesJoinTheEnumsAndCallsHaveNames) {
  export_training();
  EXPECT_THAT(rows(file_, test::ask::copies_by_kind),
              ElementsAre("Host-to-Device|0|1|4096|100", "Peer-to-Peer|1|1|512|200"));
  EXPECT_THAT(rows(file_, test::ask::memsets_by_device), ElementsAre("0|7|1|64|10"));
  EXPECT_THAT(rows(file_,
                   "SELECT COALESCE(s.label, '?'), d.label FROM CUPTI_ACTIVITY_KIND_MEMCPY m LEFT JOIN "
                   "ENUM_CUDA_MEM_KIND s ON s.id = m.srcKind JOIN ENUM_CUDA_MEM_KIND d ON d.id = m.dstKind "
                   "ORDER BY m.start"),
              ElementsAre("?|Device", "Device|Device"));
  EXPECT_THAT(rows(file_, test::ask::calls_by_name),
              ElementsAre("CUDA driver|cuLaunchKernel|1|60", "CUDA runtime|cudaLaunchKernel|3|300",
                          "CUDA runtime|cudaMemcpyAsync|1|100", "CUDA runtime|runtime call 999|1|100"));
}

TEST_F(NsysExport, RangesMarksDomainsAndWhatTheyCarry) {
  export_training();
  EXPECT_THAT(rows(file_, test::ask::ranges_by_name),
              ElementsAre("step 0|2|20000", "backward|1|5000", "forward|1|3000", "all_reduce|1|2000",
                          "say \"it's\"\n\xEF\xBF\xBD|1|100"));
  EXPECT_THAT(rows(file_, test::ask::events_by_type),
              ElementsAre("NvtxMark|1", "NvtxPushPopRange|5", "NvtxStartEndRange|1"));
  EXPECT_THAT(rows(file_,
                   "SELECT d.text, n.text, n.start, COALESCE(n.end, 'none'), JSON_EXTRACT(n.jsonText, '$.bytes'), "
                   "n.doubleValue FROM NVTX_EVENTS n JOIN NVTX_EVENTS d ON d.eventType = 75 AND d.domainId = "
                   "n.domainId AND d.globalTid >> 24 = n.globalTid >> 24 WHERE n.eventType <> 75 ORDER BY n.start"),
              ElementsAre("ddpprof|all_reduce|5000|7000|4096|NULL", "ddpprof|loss|9500|none|NULL|1.5"));
  EXPECT_THAT(rows(file_, "SELECT text, int64Value FROM NVTX_EVENTS WHERE int64Value NOT NULL"),
              ElementsAre("forward|7"));
}

TEST_F(NsysExport, KernelsBelongToTheRangesAroundTheirLaunch) {
  export_training();
  // In rank 0's forward add #1; in its backward NCCL #2; the step has both; rank 1's step has its add.
  EXPECT_THAT(rows(file_, test::ask::kernels_by_range),
              ElementsAre("step 0|3|5000", "backward|1|3000", "forward|1|1000"));
  // 500 and 500 on device 0; 500 on device 1, because the clocks of its call and its kernel are shifted equally.
  EXPECT_THAT(rows(file_, test::ask::launch_delays), ElementsAre("0|2|1000|500", "1|1|500|500"));
}

TEST_F(NsysExport, IdleBusyAndOverlapByDevice) {
  export_training();
  // Between [2000, 3000), [3500, 3700), [5000, 8000): 500 and 1300.
  EXPECT_THAT(rows(file_, test::ask::idle_gaps), ElementsAre("0|2|1800|1300"));
  // Device 0: 100 + 10 + 1000 + 200 + 3000 from 1300 to 8000; device 1: 1000 and 200 from 2100 to 3800.
  EXPECT_THAT(rows(file_, test::ask::busy_by_device), ElementsAre("0|4310|6700", "1|1200|1700"));
  EXPECT_THAT(rows(file_, test::ask::nccl_beside_compute), ElementsAre("0|1000"));
  EXPECT_THAT(rows(file_, test::ask::streams), ElementsAre("0|7|3|2200|1", "0|20|1|3000|1", "1|7|1|1000|1"));
}

TEST_F(NsysExport, AllRanksAreOnRankZerosClockFromTheFirstEventOn) {
  export_training();
  EXPECT_THAT(rows(file_, "SELECT MIN(start) FROM NVTX_EVENTS"), ElementsAre("0"));
  EXPECT_THAT(rows(file_, "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE deviceId = 1"),
              ElementsAre("2100|3100"));
  EXPECT_THAT(rows(file_, "SELECT startTime, stopTime, duration FROM ANALYSIS_DETAILS"), ElementsAre("0|10100|10100"));
  EXPECT_THAT(rows(file_, "SELECT utcEpochNs, utcTime FROM TARGET_INFO_SESSION_START_TIME"),
              ElementsAre("1700000000000000000|2023-11-14T22:13:20"));
}

TEST_F(NsysExport, ProcessesThreadsAndDevices) {
  export_training();
  EXPECT_THAT(rows(file_, test::ask::processes), ElementsAre("100|ddp N=2 rank 0|4|1", "101|ddp N=2 rank 1|1|1"));
  EXPECT_THAT(rows(file_,
                   "SELECT t.globalTid & 0xFFFFFF, p.pid, s.value FROM ThreadNames t JOIN StringIds s ON s.id = "
                   "t.nameId JOIN PROCESSES p ON p.globalPid >> 24 = t.globalTid >> 24"),
              ElementsAre("100|100|main \"thread\""));
  EXPECT_THAT(rows(file_,
                   "SELECT c.pid, c.cudaId, g.name, g.id FROM TARGET_INFO_GPU g JOIN TARGET_INFO_CUDA_DEVICE c "
                   "ON c.gpuId = g.id ORDER BY 1"),
              ElementsAre("100|0|Some GPU|0", "101|1|Some GPU|1"));
  EXPECT_THAT(rows(file_,
                   "SELECT r.rank, SUM(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN DDPPROF_RANK r "
                   "ON r.shard_id = k.ddpprof_shard AND r.globalPid = k.globalPid GROUP BY 1"),
              ElementsAre("0|5200", "1|1000"));
  EXPECT_THAT(rows(file_, "SELECT name, value FROM TARGET_INFO_SYSTEM_ENV ORDER BY name"),
              ElementsAre("CpuCores|2", "Hostname|node", "NvDriverVersion|580.95"));
}

TEST_F(NsysExport, EveryReferenceHasItsRowAndEveryTextIsUtf8) {
  export_training();
  EXPECT_THAT(rows(file_, "PRAGMA integrity_check"), ElementsAre("ok"));
  for (const std::string used :
       {"demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL", "shortName FROM CUPTI_ACTIVITY_KIND_KERNEL",
        "nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME", "nameId FROM ThreadNames"})
    EXPECT_THAT(rows(file_, "SELECT " + used + " EXCEPT SELECT id FROM StringIds"), ElementsAre()) << used;
  EXPECT_THAT(rows(file_, "SELECT value FROM StringIds GROUP BY value HAVING COUNT(*) > 1"), ElementsAre());
  EXPECT_THAT(rows(file_, "SELECT COUNT(*) FROM StringIds WHERE INSTR(CAST(value AS BLOB), x'ff') > 0"),
              ElementsAre("0"));
  EXPECT_THAT(rows(file_,
                   "SELECT globalTid FROM NVTX_EVENTS WHERE (globalTid >> 24) NOT IN (SELECT globalPid >> 24 FROM "
                   "PROCESSES)"),
              ElementsAre());
}

TEST_F(NsysExport, TheSameDatabaseGivesTheSameBytes) {
  store::Database database = test::recorded_training(folder_ / "training.db");
  const auto bytes = [](const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  export_::export_nsys(database, file_);
  export_::export_nsys(database, folder_ / "again.sqlite");
  EXPECT_GT(bytes(file_).size(), 4096U);
  EXPECT_TRUE(bytes(file_) == bytes(folder_ / "again.sqlite"));
  EXPECT_THAT(test::left_behind(folder_), testing::IsEmpty());
}

TEST_F(NsysExport, OneFileAMeasurementWithRangesOnlyWhereNothingElseWasKept) {
  test::SyntheticRun run(folder_ / "several.db");
  run.fill();
  const export_::NsysSummary summary = export_::export_nsys(run.database, folder_ / "several");
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_ / "several")) names.push_back(entry.path().filename());
  // Two of the measurements differ only in their batch.
  EXPECT_THAT(names, testing::UnorderedElementsAre("ddp-n1-r0.sqlite", "ddp-n2-r0-m2.sqlite", "dp-n2-r0.sqlite",
                                                   "ddp-n2-r0-m4.sqlite", "bench-comm-n4-r0.sqlite"));
  EXPECT_EQ(summary.files, 5);
  EXPECT_EQ(summary.kernels, 0);
  const fs::path two = folder_ / "several" / "ddp-n2-r0-m2.sqlite";
  EXPECT_THAT(rows(two, "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"), ElementsAre("0"));
  // Steps of rank 0: 120, 120, 130, 140 and 100 ms; rank 1's clock is 5000 ns behind.
  EXPECT_THAT(
      rows(two,
           "SELECT n.text, n.start, n.end - n.start, JSON_EXTRACT(n.jsonText, '$.kind'), "
           "JSON_EXTRACT(n.jsonText, '$.compute_ns') FROM NVTX_EVENTS n JOIN PROCESSES p ON p.globalPid >> 24 "
           "= n.globalTid >> 24 WHERE n.text LIKE 'step %' AND p.name = 'ddp N=2 rank 0' ORDER BY n.start"),
      ElementsAre("step 0|0|120000000|measured|90000000", "step 1|120000000|120000000|measured|90000000",
                  "step 2|240000000|130000000|measured|90000000", "step 3|370000000|140000000|measured|90000000",
                  "step 4|510000000|100000000|unwrapped|100000000"));
  EXPECT_THAT(rows(two,
                   "SELECT text, MIN(start) FROM NVTX_EVENTS WHERE globalTid >> 24 & 0xFFFFFF = 101 AND eventType "
                   "= 59 GROUP BY text HAVING text IN ('step 0', 'forward') ORDER BY text"),
              ElementsAre("forward|1005000", "step 0|5000"));
  // Two all-reduces a step, 24 + 40 ms on rank 0 and 20 + 40 on rank 1, 4 steps each.
  EXPECT_THAT(
      rows(two,
           "SELECT s.value, n.text, COUNT(*), SUM(n.end - n.start), MAX(JSON_EXTRACT(n.jsonText, '$.bytes')), "
           "MAX(JSON_EXTRACT(n.jsonText, '$.communicator')) FROM NVTX_EVENTS n JOIN ThreadNames t ON "
           "t.globalTid = n.globalTid JOIN StringIds s ON s.id = t.nameId WHERE n.eventType = 60 GROUP BY 1, 2"),
      ElementsAre("collectives|all_reduce bucket 0|8|176000000|1048576|0xfffffffffffffff9",
                  "collectives|all_reduce bucket 1|8|320000000|4194304|0xfffffffffffffff9"));
  EXPECT_THAT(rows(two, "SELECT text, COUNT(*), MIN(start) FROM NVTX_EVENTS WHERE eventType = 34 GROUP BY text"),
              ElementsAre("fc1.weight|8|39000000"));
  EXPECT_THAT(rows(two, "SELECT DISTINCT d.text FROM NVTX_EVENTS d WHERE d.eventType = 75"), ElementsAre("ddpprof"));
  EXPECT_THAT(rows(folder_ / "several" / "dp-n2-r0.sqlite",
                   "SELECT s.value, n.text, COUNT(*) FROM NVTX_EVENTS n JOIN ThreadNames t ON t.globalTid = "
                   "n.globalTid JOIN StringIds s ON s.id = t.nameId WHERE n.text LIKE 'repli%' GROUP BY 1, 2"),
              ElementsAre("replica 0|replica_forward|3", "replica 1|replica_forward|3", "steps|replicate|3"));
  EXPECT_THAT(rows(two,
                   "SELECT l.label, d.text, d.globalPid >> 24 & 0xFFFFFF FROM DIAGNOSTIC_EVENT d "
                   "JOIN ENUM_DIAGNOSTIC_SEVERITY_LEVEL l ON l.id = d.severity ORDER BY 3"),
              ElementsAre("Error|shard_full: events were dropped|100", "Error|shard_full: events were dropped|101"));
  EXPECT_THAT(rows(folder_ / "several" / "bench-comm-n4-r0.sqlite", "SELECT COUNT(*) FROM NVTX_EVENTS"),
              ElementsAre("0"));
}

TEST_F(NsysExport, ProcessesOfOneNumberStayApartAndDevicesOfOneProcessTogether) {
  store::Database database = test::recorded_training(folder_ / "training.db");
  database.sql().exec("UPDATE shard SET pid = 1; UPDATE shard SET host = 'other' WHERE rank = 1");
  export_::export_nsys(database, file_);
  EXPECT_THAT(rows(file_, "SELECT COUNT(DISTINCT globalPid), COUNT(DISTINCT pid) FROM PROCESSES"), ElementsAre("2|2"))
      << "two containers";
  EXPECT_THAT(rows(file_, "SELECT COUNT(DISTINCT globalVid) FROM TARGET_INFO_SYSTEM_ENV"), ElementsAre("2"));
  EXPECT_THAT(rows(file_, test::ask::kernels_by_range),
              ElementsAre("step 0|3|5000", "backward|1|3000", "forward|1|1000"));
  database.sql().exec("UPDATE shard SET host = 'node'");
  export_::export_nsys(database, folder_ / "containers.sqlite");
  EXPECT_THAT(rows(folder_ / "containers.sqlite", "SELECT COUNT(*) FROM PROCESSES"), ElementsAre("2"))
      << "both have ranges and calls of their own";
  database.sql().exec("DELETE FROM range WHERE shard_id = 2; DELETE FROM api_call WHERE shard_id = 2");
  export_::export_nsys(database, folder_ / "one.sqlite");
  EXPECT_THAT(rows(folder_ / "one.sqlite", test::ask::processes), ElementsAre("1|ddp N=2 rank 0|5|2"));
}

TEST_F(NsysExport, ThreadsOfAnyNumberAreToldApart) {
  store::Database database = test::recorded_training(folder_ / "training.db");
  database.sql().exec(
      "UPDATE range SET tid = 140000000000000 WHERE name_id = (SELECT id FROM string WHERE value = 'forward');"
      "UPDATE range SET tid = -3 WHERE name_id = (SELECT id FROM string WHERE value = 'backward')");
  export_::export_nsys(database, file_);
  EXPECT_THAT(rows(file_,
                   "SELECT COUNT(DISTINCT globalTid), COUNT(DISTINCT globalTid >> 24) FROM NVTX_EVENTS "
                   "WHERE text IN ('forward', 'backward', 'loss')"),
              ElementsAre("3|1"));
}

TEST_F(NsysExport, WhatCannotBeWrittenIsToldAndLeavesNothing) {
  store::Database database = test::recorded_training(folder_ / "training.db");
  EXPECT_THROW(export_::export_nsys(database, folder_ / "none" / "x.sqlite"), export_::ExportError);
  fs::create_directory(folder_ / "taken");
  EXPECT_THROW(export_::export_nsys(database, folder_ / "taken"), export_::ExportError);
  EXPECT_THAT(test::left_behind(folder_), testing::IsEmpty());
  store::Database empty = store::Database::create(folder_ / "empty.db");
  EXPECT_THROW(export_::export_nsys(empty, folder_ / "empty.sqlite"), export_::ExportError);
  EXPECT_FALSE(fs::exists(folder_ / "empty.sqlite"));
}

TEST_F(NsysExport, AFullDiskIsToldOfTheExportAndLeavesNothing) {
  store::Database database = test::recorded_training(folder_ / "training.db");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit little = before;
  little.rlim_cur = 32768;  // limits the file size, as if the disk were full
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  std::string why;
  try {
    export_::export_nsys(database, file_);
  } catch (const export_::ExportError& error) {
    why = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_THAT(why, testing::HasSubstr(file_.string() + ": cannot be written"));
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_THAT(test::left_behind(folder_), testing::IsEmpty());
}

// The import of Nsight Systems' files ignores the tables that ddpprof adds.
TEST_F(NsysExport, ReadByTheImportOfNsightTheFiguresAreTheSame) {
  export_training();
  EXPECT_TRUE(import::is_own_nsys_export(file_));
  EXPECT_FALSE(import::is_own_nsys_export(folder_ / "training.db"));
  store::Database read = store::Database::create(folder_ / "read.db");
  import::ImportOptions options;
  options.files = {file_};
  options.temporary_folder = folder_;
  const import::ImportResult result = import::import_traces(read, options);
  EXPECT_EQ(result.ranks, 2);
  EXPECT_EQ(result.steps, 2);
  EXPECT_THAT(rows(folder_ / "read.db",
                   "SELECT sh.rank, st.kind, COUNT(*) FROM step st JOIN shard sh ON sh.id = st.shard_id GROUP BY 1, 2"),
              ElementsAre("0|measured|1", "1|measured|1"));
  // Device 0: compute 1000 + 200 + 1000, NCCL 3000 of which 1000 lie beside compute.
  EXPECT_THAT(rows(folder_ / "read.db",
                   "SELECT sh.rank, d.compute_ns, d.communication_ns, d.overlapped_ns, d.kernels, d.collective_kernels "
                   "FROM device_time d JOIN shard sh ON sh.id = d.shard_id WHERE d.name = 'all' ORDER BY 1"),
              ElementsAre("0|2200|3000|1000|3|1", "1|1000|0|0|1|0"));
  EXPECT_THAT(rows(folder_ / "read.db",
                   "SELECT s.value, SUM(k.count), SUM(k.total_ns) FROM kernel_summary k JOIN string s ON s.id = "
                   "k.name_id WHERE k.kind IN ('compute', 'communication') GROUP BY 1 ORDER BY 1"),
              ElementsAre("add(float*)|4|3200", std::string(test::nccl_kernel) + "|1|3000"));
}

}  // namespace
}  // namespace ddpprof
