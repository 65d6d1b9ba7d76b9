// Tests the CUPTI session on a fake CUPTI: enabled activities, messages after errors, records.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/tracer/cupti_session_fixture.hpp"
#include "tracer/record/shard/clock.hpp"

namespace ddpprof::record {
namespace {

using test::Record;
using test::Shard;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using trace::RecordType;

TEST_F(Session, EnablesWhatAReportNeeds) {
  make({});
  EXPECT_TRUE(session_->start());
  const std::set<CUpti_ActivityKind> expected = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                 CUPTI_ACTIVITY_KIND_MEMCPY,
                                                 CUPTI_ACTIVITY_KIND_MEMCPY2,
                                                 CUPTI_ACTIVITY_KIND_MEMSET,
                                                 CUPTI_ACTIVITY_KIND_RUNTIME,
                                                 CUPTI_ACTIVITY_KIND_MARKER,
                                                 CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                                 CUPTI_ACTIVITY_KIND_OVERHEAD};
  EXPECT_EQ(cupti_->enabled, expected);
  EXPECT_TRUE(cupti_->driver_calls.contains(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  EXPECT_THAT(unavailable(), IsEmpty());
  // CUPTI takes its times from our clock, which counts from 1970 like CUPTI's own clock.
  EXPECT_NEAR(static_cast<double>(cupti_->timestamp_()), static_cast<double>(realtime_ns()), 10e9);
}

// PyTorch makes these calls more often than launches. FakeCupti enables them again when the kind RUNTIME is enabled.
TEST_F(Session, RuntimeCallsThatNoReportNeedsAreDisabled) {
  ASSERT_TRUE(session_->start());
  const std::set<CUpti_CallbackId> expected = {CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
                                               CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020,
                                               CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
                                               CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020,
                                               CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_v10000,
                                               CUPTI_RUNTIME_TRACE_CBID_cudaStreamIsCapturing_ptsz_v10000};
  EXPECT_EQ(cupti_->disabled_runtime_calls, expected);
}

TEST_F(Session, ACuptiThatCannotDisableSingleCallsIsUsedWithoutAMessage) {
  cupti_->runtime_call_result = CUPTI_ERROR_NOT_SUPPORTED;
  EXPECT_TRUE(session_->start());
  EXPECT_TRUE(cupti_->enabled.contains(CUPTI_ACTIVITY_KIND_RUNTIME));
  EXPECT_THAT(incomplete(), IsEmpty());
}

TEST_F(Session, RecordsABufferInOrderWithItsNames) {
  ASSERT_TRUE(session_->start());
  const std::int64_t before_ns = monotonic_ns();
  const std::uint64_t now = cupti_->now();
  cupti_->append(kernel_at(now + 100, 100, "first kernel"));
  CUpti_ActivityMemset4 memset_activity{};
  memset_activity.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  memset_activity.start = now + 300, memset_activity.end = now + 310, memset_activity.bytes = 64;
  cupti_->append(memset_activity);
  cupti_->append(kernel_at(now + 400, 100, "second kernel"));
  session_->flush();
  const Shard shard = added();
  const std::vector<Record> kernels = shard.of(RecordType::kernel);
  ASSERT_THAT(kernels, SizeIs(2));
  EXPECT_EQ(shard.name(kernels[0]), "first kernel");
  EXPECT_GE(kernels[0].time_ns, before_ns + 100);  // converted to CLOCK_MONOTONIC
  EXPECT_LE(kernels[0].time_ns, monotonic_ns() + 100);
  EXPECT_EQ(kernels[0].as<trace::KernelRecord>().end_ns, kernels[0].time_ns + 100);
  EXPECT_EQ(kernels[1].time_ns, kernels[0].time_ns + 300);
  EXPECT_EQ(shard.name(kernels[1]), "second kernel");
  EXPECT_THAT(shard.of(RecordType::memcpy_), SizeIs(1));
}

TEST_F(Session, WithoutATimestampCallbackPairsOfReadingsMapTheClock) {
  cupti_->timestamp_result = CUPTI_ERROR_NOT_SUPPORTED;
  cupti_->clock_ahead_ns = 1'000'000'000'000;  // CUPTI's clock is 1000 s ahead of CLOCK_MONOTONIC
  ASSERT_TRUE(session_->start());
  const std::int64_t now_ns = monotonic_ns();
  const auto cupti_now = static_cast<std::uint64_t>(now_ns) + cupti_->clock_ahead_ns;
  cupti_->append(kernel_at(cupti_now, 500, "mapped"));
  session_->flush();
  const auto record = added().of(RecordType::kernel).at(0);
  // The error of a pair of readings is far smaller than the difference of the clocks.
  EXPECT_NEAR(static_cast<double>(record.time_ns - now_ns), 0.0, 1e9);
  EXPECT_NEAR(static_cast<double>(record.as<trace::KernelRecord>().end_ns - record.time_ns), 500.0, 2.0);
}

// Like a host whose time is corrected while the job runs: CUPTI's own clock counts from 1970.
TEST_F(Session, TimesAreRightAfterCuptisClockWasSetBack) {
  constexpr std::int64_t hour_ns = 3'600'000'000'000;
  cupti_->timestamp_result = CUPTI_ERROR_NOT_SUPPORTED;
  cupti_->clock_ahead_ns = 10 * hour_ns;
  ASSERT_TRUE(session_->start());
  std::vector<std::int64_t> expected_ns;
  const auto deliver = [&] {
    expected_ns.push_back(monotonic_ns());
    cupti_->append(kernel_at(cupti_->now(), 500, "mapped"));
    cupti_->deliver();
  };
  deliver();
  cupti_->clock_ahead_ns = 9 * hour_ns;
  deliver();        // the earlier pair is of before
  usleep(600'000);  // longer than CuptiClock::least_distance_ns
  deliver();        // replaces the earlier pair
  deliver();
  session_->flush();
  const Shard shard = added();
  const std::vector<Record> kernels = shard.of(RecordType::kernel);
  ASSERT_THAT(kernels, SizeIs(expected_ns.size()));
  for (std::size_t i = 0; i < kernels.size(); ++i)
    EXPECT_NEAR(static_cast<double>(kernels[i].time_ns - expected_ns[i]), 0.0, 1e9) << i;
  EXPECT_EQ(shard.dropped_cupti, 0u);
}

TEST_F(Session, AClockThatCannotBeReadKeepsTheEarlierPair) {
  cupti_->timestamp_result = CUPTI_ERROR_NOT_SUPPORTED;
  cupti_->clock_ahead_ns = 1'000'000'000'000;
  ASSERT_TRUE(session_->start());
  const std::int64_t now_ns = monotonic_ns();
  cupti_->append(kernel_at(cupti_->now(), 500, "mapped"));
  cupti_->clock_result = CUPTI_ERROR_UNKNOWN;
  session_->flush();
  const std::vector<Record> kernels = added().of(RecordType::kernel);
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_NEAR(static_cast<double>(kernels[0].time_ns - now_ns), 0.0, 1e9);
}

TEST_F(Session, ARefusedTimestampCallbackIsInTheDiagnostic) {
  cupti_->timestamp_result = CUPTI_ERROR_NOT_SUPPORTED;
  ASSERT_TRUE(session_->start());
  EXPECT_THAT(said(trace::DiagnosticCode::cupti_timestamps),
              testing::ElementsAre("paired (callback was refused); CUPTI 13.1 (API 130100), driver up to CUDA 13.1"));
}

TEST_F(Session, TheDefaultClockDependsOnCuptisVersion) {
  const std::tuple<std::uint32_t, std::optional<CuptiTimestamps>, const char*> cases[] = {
      {130001, std::nullopt, "paired; CUPTI 13.0 (API 130001), driver up to CUDA 13.1"},
      {130100, std::nullopt, "callback; CUPTI 13.1 (API 130100), driver up to CUDA 13.1"},
      {130001, CuptiTimestamps::callback, "callback; CUPTI 13.0 (API 130001), driver up to CUDA 13.1"},
      {130100, CuptiTimestamps::paired, "paired; CUPTI 13.1 (API 130100), driver up to CUDA 13.1"}};
  for (const auto& [version, chosen, expected] : cases) {
    make({.period = std::chrono::hours(1)});
    cupti_->version = version;
    ASSERT_TRUE(session_->start({.timestamps = chosen}));
    EXPECT_EQ(cupti_->timestamp_ != nullptr, std::string(expected).starts_with("callback")) << expected;
    EXPECT_THAT(said(trace::DiagnosticCode::cupti_timestamps), testing::ElementsAre(expected));
    TearDown();
  }
  EXPECT_EQ(default_timestamps(std::nullopt), CuptiTimestamps::paired);
}

TEST(CuptiTimestampsVariable, AnUnknownWordIsNamedAndTheDefaultIsUsed) {
  const auto read = [](const char* value) {
    setenv("DDPPROF_CUPTI_TIMESTAMPS", value, 1);
    const auto timestamps = timestamps_from_environment();
    unsetenv("DDPPROF_CUPTI_TIMESTAMPS");
    return timestamps;
  };
  EXPECT_EQ(timestamps_from_environment(), std::nullopt);
  EXPECT_EQ(read(""), std::nullopt);
  EXPECT_EQ(read("callback"), CuptiTimestamps::callback);
  EXPECT_EQ(read("paired"), CuptiTimestamps::paired);
  testing::internal::CaptureStderr();
  EXPECT_EQ(read("Paired"), std::nullopt);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "ddpprof tracer: DDPPROF_CUPTI_TIMESTAMPS=\"Paired\": expected callback or paired; using the default of the "
      "CUPTI version\n");
}

TEST_F(Session, InsufficientPrivilegesAreSaidOnceWithTheWayOut) {
  cupti_->enable_result = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  EXPECT_FALSE(session_->start());
  ASSERT_THAT(unavailable(), SizeIs(1));
  EXPECT_THAT(unavailable()[0], HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_THAT(unavailable()[0], HasSubstr("fake message 35"));
}

TEST_F(Session, AnotherProfilerIsNamed) {
  cupti_->enable_result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  EXPECT_FALSE(session_->start());
  ASSERT_THAT(unavailable(), SizeIs(1));
  EXPECT_THAT(unavailable()[0], HasSubstr("another profiler holds CUPTI"));
}

TEST_F(Session, WithoutADriverHostEventsAreStillRecorded) {
  cupti_->callbacks_result = CUPTI_ERROR_NOT_INITIALIZED;
  EXPECT_FALSE(session_->start());
  ASSERT_THAT(unavailable(), SizeIs(1));
  EXPECT_THAT(unavailable()[0], HasSubstr("nvidia-smi"));
  EXPECT_TRUE(cupti_->enabled.empty());
  {
    const Entry entry;
    ASSERT_TRUE(entry);
    EXPECT_NE(Recorder::instance().names().intern(*entry, "still recording"), 0u);
  }
  const Shard after = shard();
  EXPECT_TRUE(std::any_of(after.strings.begin(), after.strings.end(),
                          [](const auto& string) { return string.second == "still recording"; }));
}

TEST_F(Session, OneRefusedKindDoesNotCostTheOthers) {
  cupti_->refusals[CUPTI_ACTIVITY_KIND_MARKER] = CUPTI_ERROR_NOT_SUPPORTED;
  cupti_->driver_result = CUPTI_ERROR_NOT_SUPPORTED;  // an older CUPTI: needs no message
  EXPECT_TRUE(session_->start());
  EXPECT_TRUE(cupti_->enabled.contains(CUPTI_ACTIVITY_KIND_OVERHEAD));
  EXPECT_THAT(unavailable(), IsEmpty());  // the other kinds are recorded
  ASSERT_THAT(incomplete(), SizeIs(1));
  EXPECT_THAT(incomplete()[0], HasSubstr("CUPTI refused markers"));
}

TEST_F(Session, WhatCuptiDroppedAndWhatNobodyKnowsIsCounted) {
  ASSERT_TRUE(session_->start());
  cupti_->dropped[{nullptr, 0}] = 12;
  CUpti_ActivityKernel8 strange = kernel(1, 2, "strange");
  strange.kind = static_cast<CUpti_ActivityKind>(4242);
  cupti_->append(strange);
  cupti_->append(strange);
  cupti_->append(kernel_at(0, 0, "without times"));
  cupti_->append(kernel(7, 8, "sound"));
  session_->flush();
  const Shard shard = added();
  EXPECT_EQ(shard.dropped_cupti, 13u);  // includes the record without times: count and diagnostics agree
  EXPECT_EQ(shard.diagnostics(trace::DiagnosticCode::cupti_dropped), 13u);
  EXPECT_EQ(shard.diagnostics(trace::DiagnosticCode::cupti_unknown_record), 2u);
  EXPECT_THAT(shard.of(RecordType::kernel), SizeIs(1));
}

// exit() in a forked child runs the parent's exit handlers on a copy of CUPTI's buffers, which the parent writes
// itself.
TEST_F(Session, AForkedChildLeavesTheParentsBuffersAlone) {
  ASSERT_TRUE(session_->start());
  cupti_->append(kernel(600, 700, "the parent's"));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    session_->flush();
    const int flushes = cupti_->forced_flushes() + cupti_->plain_flushes();
    cupti_->deliver();  // as if CUPTI delivered a buffer in the child
    _exit(flushes);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_THAT(test::walk_all(path_), SizeIs(1));  // the child has no shard
  EXPECT_THAT(added().of(RecordType::kernel), IsEmpty());
  session_->flush();
  EXPECT_THAT(added().of(RecordType::kernel), SizeIs(1));
}

}  // namespace
}  // namespace ddpprof::record
