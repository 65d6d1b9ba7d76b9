// Tests the path of GPU records end to end in a separate process: the driver injects the tracer, which opens CUPTI and
// writes a shard; then import and report. Driver and CUPTI are fakes (tests/tracer/fake_gpu), the rest is the real
// program.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <map>

#include "tests/tiers.hpp"
#include "tests/tracer/run_program.hpp"

namespace ddpprof::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class GpuProcess : public testing::Test {
 protected:
  // Records the fake training in `mode` and imports it into the database.
  void record(const std::string& mode, Environment environment = {}, const std::string& cupti = FAKE_CUPTI_FOLDER) {
    environment.merge(fake_machine(cupti));
    database_ = folder_.path() / "job.db";
    outcome_ = run_program(DDPPROF_PROGRAM, {"record", "--overwrite", "--out", database_, "--", FAKE_GPU_PROGRAM, mode},
                           environment);
    ASSERT_TRUE(std::filesystem::exists(database_)) << outcome_.err;
  }
  // LeakSanitizer's thread crashes with threads of libraries that are opened at run time.
  static Environment fake_machine(const std::string& cupti) {
    return {{"LD_LIBRARY_PATH", cupti + ":" + FAKE_DRIVER_FOLDER}, {"ASAN_OPTIONS", "detect_leaks=0"}};
  }
  std::int64_t count(const std::string& sql) {
    SQLite::Database database(database_);
    return database.execAndGet(sql).getInt64();
  }
  std::int64_t kernels() { return count("SELECT count(*) FROM kernel"); }
  std::map<std::string, std::string> told() {  // by code
    SQLite::Database database(database_);
    SQLite::Statement query(database, "SELECT code, message || ' -> ' || advice FROM diagnostic");
    std::map<std::string, std::string> out;
    while (query.executeStep()) out[query.getColumn(0).getString()] += query.getColumn(1).getString() + "\n";
    return out;
  }
  int exit_code() const { return WIFEXITED(outcome_.status) ? WEXITSTATUS(outcome_.status) : -1; }
  // Problems with the GPU's part must not affect the job or the records of the host.
  void expect_unaffected(std::int64_t steps = 5) {
    EXPECT_EQ(exit_code(), 0) << outcome_.err;
    EXPECT_EQ(outcome_.out, "the job ends\n");
    EXPECT_EQ(count("SELECT count(*) FROM step"), steps);
  }

  TemporaryFolder folder_;
  std::filesystem::path database_;
  Outcome outcome_;
};

TEST_F(GpuProcess, EveryKernelComesThroughToTheReport) {
  record("");
  expect_unaffected();
  EXPECT_EQ(kernels(), 50);
  EXPECT_EQ(count("SELECT count(*) FROM api_call"), 50);  // without the tracer's own calls
  EXPECT_EQ(count("SELECT count(*) FROM kernel k JOIN api_call a USING (correlation) WHERE k.start_ns >= a.start_ns"),
            50);
  EXPECT_EQ(count("SELECT count(*) FROM kernel k JOIN range r ON k.start_ns BETWEEN r.start_ns AND r.end_ns"), 50)
      << "host and GPU must have one clock";
  EXPECT_EQ(told().count("cupti_unavailable") + told().count("cupti_incomplete") + told().count("cupti_dropped"), 0u);
  const Outcome report = run_program(DDPPROF_PROGRAM, {"report", database_}, {});
  EXPECT_TRUE(report.exited_well()) << report.err;
}

// The fake GPU runs ten kernels in each of five steps.
TEST_F(GpuProcess, OfTheGpuOnlyWhatTheBoundsLetThroughIsKept) {
  database_ = folder_.path() / "job.db";
  outcome_ = run_program(DDPPROF_PROGRAM, {"record", "--steps", "1-2", "--out", database_, "--", FAKE_GPU_PROGRAM, ""},
                         fake_machine(FAKE_CUPTI_FOLDER));
  ASSERT_TRUE(std::filesystem::exists(database_)) << outcome_.err;
  expect_unaffected(2);
  EXPECT_EQ(kernels(), 20);
  EXPECT_EQ(count("SELECT count(*) FROM api_call"), 20);
  EXPECT_THAT(told()["recording_bounded"], HasSubstr("60 GPU records"));
}

TEST_F(GpuProcess, SeveralDevicesAndContextsStayApart) {
  record("devices");
  expect_unaffected();
  EXPECT_EQ(kernels(), 50);
  EXPECT_EQ(count("SELECT count(DISTINCT device) FROM kernel"), 2);
  EXPECT_EQ(count("SELECT count(*) FROM kernel WHERE device = 1"), 25);
}

TEST_F(GpuProcess, AGraphsKernelsBelongToItsLaunchAndStep) {
  record("graph");
  expect_unaffected();
  EXPECT_EQ(kernels(), 60);
  // Both kernels of a graph have the launch's correlation id.
  EXPECT_EQ(count("SELECT count(*) FROM (SELECT correlation FROM kernel GROUP BY 1 HAVING count(*) = 2)"), 5);
  EXPECT_EQ(count("SELECT count(*) FROM step WHERE communication_ns > 0"), 5);
  EXPECT_EQ(count("SELECT count(*) FROM api_call WHERE cbid = 311"), 5);
}

TEST_F(GpuProcess, RecordsOfALaterCuptiAreReadWhereTheyAreAlike) {
  record("", {{"FAKE_CUPTI_GROWS", "40"}, {"FAKE_CUPTI_VERSION", "140200"}});
  expect_unaffected();
  EXPECT_EQ(kernels(), 50);
  EXPECT_FALSE(told().contains("cupti_incomplete"));
}

TEST_F(GpuProcess, AnOlderCuptiLacksFunctionsAndRecords) {
  record("", {{"FAKE_CUPTI_VERSION", "13"}, {"FAKE_DRIVER_VERSION", "11000"}}, OLD_CUPTI_FOLDER);
  expect_unaffected();
  EXPECT_EQ(kernels(), 50);
  EXPECT_EQ(count("SELECT count(*) FROM kernel k JOIN range r ON k.start_ns BETWEEN r.start_ns AND r.end_ns"), 50)
      << "without a timestamp callback the clocks are converted";
}

TEST_F(GpuProcess, WhatCuptiRefusesIsToldWithTheWayOut) {
  const std::tuple<std::string, std::string, std::string> cases[] = {{"39", "13000", "another profiler holds CUPTI"},
                                                                     {"35", "13000", "administrators"},
                                                                     {"40", "13000", "hypervisor"},
                                                                     {"15", "12020", "driver is older than this CUPTI"},
                                                                     {"43", "13000", "-mig 0"}};
  for (const auto& [code, driver, words] : cases) {
    record("", {{"FAKE_CUPTI_REFUSES", code}, {"FAKE_DRIVER_VERSION", driver}});
    expect_unaffected();
    EXPECT_EQ(kernels(), 0);
    EXPECT_THAT(told()["cupti_unavailable"], AllOf(HasSubstr("FAKE_ERROR_" + code), HasSubstr(words)));
  }
}

TEST_F(GpuProcess, ALibraryThatIsNoCuptiIsNamed) {
  record("", {}, NO_CUPTI_FOLDER);
  expect_unaffected();
  // Another CUPTI may be installed. Otherwise the error names the library that was found.
  if (told().contains("cupti_unavailable")) {
    EXPECT_THAT(told()["cupti_unavailable"], HasSubstr("libcupti.so.13 has no function cuptiActivity"));
  }
}

TEST_F(GpuProcess, AProfilerInTheJobIsToldAndItsStepsToo) {
  record("profiler");
  EXPECT_EQ(exit_code(), 0) << outcome_.err;
  EXPECT_EQ(outcome_.out, "the job ends\n");
  EXPECT_EQ(kernels(), 50);  // of the first five steps
  EXPECT_THAT(told()["cupti_incomplete"], AllOf(HasSubstr("records stopped coming"), HasSubstr("torch.profiler")));
  EXPECT_EQ(count("SELECT count(*) FROM step"), 5);
  EXPECT_EQ(count("SELECT count FROM diagnostic WHERE code = 'steps_without_work'"), 8);
}

// A flush at the end would call the profiler that registered last. Kineto's objects are destroyed by then. In the mode
// late_profiler, the profiler has CUPTI for 0.6 s only.
TEST_F(GpuProcess, AProfilerThatIsAlreadyDestroyedIsNotCalled) {
  for (const std::string mode : {"destroyed_profiler", "late_profiler"}) {
    record(mode);
    EXPECT_EQ(exit_code(), 0) << mode << outcome_.err;
    EXPECT_EQ(outcome_.out, "the job ends\n") << mode;
    EXPECT_EQ(kernels(), 50) << mode;  // of the first five steps
    EXPECT_THAT(told()["cupti_incomplete"], AllOf(HasSubstr("records stopped coming"), HasSubstr("torch.profiler")))
        << mode;
  }
}

// The tracer then never receives a heartbeat. The profiler has CUPTI for 4 s, and for 0.6 s.
TEST_F(GpuProcess, AProfilerThatStartsBeforeTheFirstFlushIsNotCalledWhenItIsDestroyed) {
  for (const std::string mode : {"early_profiler", "early_short_profiler"}) {
    record(mode);
    EXPECT_EQ(exit_code(), 0) << mode << outcome_.err;
    EXPECT_EQ(outcome_.out, "the job ends\n") << mode;
    EXPECT_EQ(kernels(), 0) << mode;
    EXPECT_THAT(told()["cupti_incomplete"], AllOf(HasSubstr("delivered no records"), HasSubstr("torch.profiler")))
        << mode;
  }
}

TEST_F(GpuProcess, CallsThatNoReportNeedsAreNotRecordedIfCuptiCanDisableThem) {
  record("queries");
  expect_unaffected();
  EXPECT_EQ(kernels(), 50);
  EXPECT_EQ(count("SELECT count(*) FROM api_call"), 50);
  record("queries", {{"FAKE_CUPTI_VERSION", "13"}, {"FAKE_DRIVER_VERSION", "11000"}}, OLD_CUPTI_FOLDER);
  expect_unaffected();
  EXPECT_EQ(kernels(), 50);
  EXPECT_EQ(count("SELECT count(*) FROM api_call WHERE cbid = 17"), 5);
}

TEST_F(GpuProcess, BothClocksGiveTheHostsTime) {
  for (const std::string clock : {"callback", "paired"}) {
    record("", {{"DDPPROF_CUPTI_TIMESTAMPS", clock}});
    expect_unaffected();
    EXPECT_EQ(count("SELECT count(*) FROM kernel k JOIN range r ON k.start_ns BETWEEN r.start_ns AND r.end_ns"), 50)
        << clock;
    EXPECT_THAT(told()["cupti_timestamps"], HasSubstr("clock of the GPU's times: " + clock + "; CUPTI 13.0"));
  }
}

TEST_F(GpuProcess, QuickExitFlushes) {
  record("quick_exit");
  EXPECT_EQ(exit_code(), 0);
  EXPECT_EQ(kernels(), 50);
}

// The kernels of the first five steps were flushed before. Kernels just before the end are lost, and reported.
TEST_F(GpuProcess, AnEndWithoutAFlushLosesOnlyTheLastPeriod) {
  for (const std::string mode : {"_exit", "abort", "kill"}) {
    record(mode);
    EXPECT_GE(kernels(), 50) << mode;
    EXPECT_LE(kernels(), 100) << mode;
    EXPECT_EQ(count("SELECT count(*) FROM range WHERE kind = 0"), 10)
        << mode << ": all ranges of the host must be recorded";
    EXPECT_TRUE(told().contains("unclosed_shard")) << mode;
    EXPECT_THAT(told()["gpu_tail_lost"], HasSubstr("every 0.25 s")) << mode;
  }
}

TEST_F(GpuProcess, ACuptiThatHangsEndsWithTheJob) {
  record("", {{"FAKE_CUPTI_HANGS", "1"}});
  expect_unaffected();
  EXPECT_THAT(told()["cupti_incomplete"], HasSubstr("did not answer within 10 s"));
}

TEST_F(GpuProcess, ManyKernelsNoneLost) {
  const int launched = long_tests() ? 1'000'000 : 200'000;
  record("many", {{"FAKE_KERNELS", std::to_string(launched)}});
  EXPECT_EQ(exit_code(), 0) << outcome_.err;
  EXPECT_EQ(kernels(), launched);
  EXPECT_FALSE(told().contains("cupti_dropped"));
  EXPECT_FALSE(told().contains("shard_full"));
}

}  // namespace
}  // namespace ddpprof::test
