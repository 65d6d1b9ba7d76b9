// Tests problems with CUPTI: other profilers, versions, missing buffers, a CUPTI that hangs.
#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <vector>

#include "tests/tracer/cupti_session_fixture.hpp"
#include "tracer/format/cupti_versions.hpp"

namespace ddpprof::record {
namespace {

using test::Shard;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using trace::DiagnosticCode;
using trace::RecordType;

TEST(CuptiVersions, BelongToTheirCuda) {  // cupti_version.h's list
  EXPECT_EQ(trace::cuda_of_cupti(18)->text(), "11.8");
  EXPECT_EQ(trace::cuda_of_cupti(22)->text(), "12.4");
  EXPECT_EQ(trace::cuda_of_cupti(25)->text(), "12.6");  // not in the list: between 12.6 and 12.8
  EXPECT_EQ(trace::cuda_of_cupti(130001)->text(), "13.0");
  EXPECT_EQ(trace::cuda_of_cupti(130200)->text(), "13.2");
  EXPECT_FALSE(trace::cuda_of_cupti(12).has_value());
  EXPECT_EQ(trace::cuda_of_driver(12040).text(), "12.4");
}

TEST(CuptiAdvice, EveryCodeHasAWayOut) {
  const CuptiVersions fitting{130001, 13000};
  const std::pair<int, const char*> expected[] = {
      {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "RestrictProfilingToAdmin"},
      {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, "hypervisor"},
      {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "virtual GPU"},
      {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "torch.profiler"},
      {CUPTI_ERROR_NOT_COMPATIBLE, "another profiler"},
      {CUPTI_ERROR_DISABLED, "another profiler"},
      {CUPTI_ERROR_HARDWARE_BUSY, "another process"},
      {CUPTI_ERROR_OUT_OF_MEMORY, "memory"},
      {41, "confidential"},
      {42, "kind of GPU"},
      {43, "-mig 0"},
      {45, "WSL 2"},
      {CUPTI_ERROR_NOT_INITIALIZED, "nvidia-smi"},
      {CUPTI_ERROR_NOT_SUPPORTED, "newer CUPTI"},
      {CUPTI_ERROR_UNKNOWN, "fits the driver"}};
  for (const auto& [code, words] : expected)
    EXPECT_THAT(advice(static_cast<CUptiResult>(code), fitting), HasSubstr(words)) << code;
  const CuptiVersions late{130001, 12020};
  EXPECT_THAT(advice(CUPTI_ERROR_NOT_INITIALIZED, late),
              AllOf(HasSubstr("for CUDA 13.0"), HasSubstr("CUPTI of CUDA 12.2")));
  EXPECT_EQ(describe(late), "CUPTI 13.0 (API 130001), driver up to CUDA 12.2");
  EXPECT_EQ(describe({}), "");
}

TEST_F(Session, ADriverThatIsTooOldForCuptiIsSaidWithBothVersions) {
  cupti_->version = 130001;
  cupti_->driver = 12020;
  cupti_->enable_result = CUPTI_ERROR_NOT_INITIALIZED;
  EXPECT_FALSE(session_->start());
  ASSERT_THAT(unavailable(), SizeIs(1));
  EXPECT_THAT(unavailable()[0], AllOf(HasSubstr("CUPTI 13.0"), HasSubstr("driver up to CUDA 12.2"),
                                      HasSubstr("the driver is older than this CUPTI")));
}

TEST_F(Session, ACuptiOfAnotherLayoutIsRefused) {
  cupti_->version = 12;  // CUDA 10.2
  EXPECT_FALSE(session_->start());
  ASSERT_THAT(unavailable(), SizeIs(1));
  EXPECT_THAT(unavailable()[0], HasSubstr("too old"));
  EXPECT_THAT(cupti_->enabled, IsEmpty());
}

// Every queue has its own count, which reading resets. CUPTI 6 and later has one queue, older versions one per context.
TEST_F(Session, DroppedRecordsCountOnce) {
  ASSERT_TRUE(session_->start());
  int one = 0, other = 0;
  const auto context = [](int& place) { return reinterpret_cast<CUcontext>(&place); };
  cupti_->dropped[{context(one), 0}] = 3;
  cupti_->dropped[{context(other), 0}] = 4;
  cupti_->dropped[{nullptr, 0}] = 5;
  for (int* place : {&one, &other, &one, &other}) {
    cupti_->context = context(*place);
    cupti_->deliver();
  }
  cupti_->context = nullptr;
  session_->flush();
  EXPECT_EQ(added().dropped_cupti, 12u);
  EXPECT_EQ(added().diagnostics(DiagnosticCode::cupti_dropped), 12u);
}

TEST_F(Session, WhatNoBufferCouldBeHadForIsCounted) {
  ASSERT_TRUE(session_->start());
  const auto requested = cupti_->requested();
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, most = 0, given = 0;
  for (;; ++given) {
    requested(&buffer, &size, &most);
    if (buffer == nullptr) break;
    ASSERT_LT(given, 1000u) << "the memory must be limited";
  }
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(given * CuptiBuffers::bytes, std::size_t{256} << 20);  // buffers.hpp: the limit
  cupti_->append(kernel(0, 10, "has no room"));
  cupti_->driver = 0;  // no heartbeat
  session_->flush();
  EXPECT_EQ(added().dropped_cupti, 1u);
  EXPECT_EQ(added().diagnostics(DiagnosticCode::cupti_dropped), 1u);
}

// CUPTI requests one buffer per thread that calls CUDA (attribute PER_THREAD_ACTIVITY_BUFFER). All of them are in use
// until CUPTI is flushed. So a process with 200 such threads has 200 buffers in use.
TEST_F(Session, TwoHundredBuffersCanBeInUseAtOnce) {
  ASSERT_TRUE(session_->start());
  const CUpti_ActivityKernel8 record = kernel(0, 10, "of one thread");
  cupti_->append(record);
  cupti_->deliver();  // from now on the fake reads one kernel from every buffer
  std::vector<std::uint8_t*> buffers(200);
  for (std::uint8_t*& buffer : buffers) {
    std::size_t size = 0, most = 0;
    cupti_->requested()(&buffer, &size, &most);
    ASSERT_NE(buffer, nullptr);
    ASSERT_GE(size, sizeof record);
    std::memcpy(buffer, &record, sizeof record);
  }
  for (std::uint8_t* buffer : buffers) cupti_->completed()(nullptr, 0, buffer, CuptiBuffers::bytes, sizeof record);
  session_->flush();
  EXPECT_THAT(added().of(RecordType::kernel), SizeIs(1 + buffers.size()));
  EXPECT_EQ(added().dropped_cupti, 0u);
  EXPECT_THAT(incomplete(), IsEmpty());
}

TEST_F(Session, WhatStillRanAtTheEndIsNoKernelWithoutAnEnd) {
  ASSERT_TRUE(session_->start());
  CUpti_ActivityKernel8 running = kernel(0, 10, "running");
  running.end = 0;
  cupti_->append(running);
  CUpti_ActivityKernel8 backwards = kernel(100, 200, "backwards");
  backwards.end = backwards.start - 100;
  cupti_->append(backwards);
  cupti_->append(kernel(300, 310, nullptr));
  session_->flush();
  const auto kernels = added().of(RecordType::kernel);
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_EQ(kernels[0].name_id, 0u);
  EXPECT_EQ(added().dropped_cupti, 2u);
}

TEST_F(Session, ABufferThatIsCutOffIsReadToTheCut) {
  ASSERT_TRUE(session_->start());
  cupti_->append(kernel(0, 10, "whole"));
  cupti_->append(kernel(20, 30, "cut"));
  cupti_->deliver(sizeof(CUpti_ActivityKernel8) - 100);  // the second record keeps its times, but not its name
  EXPECT_THAT(added().of(RecordType::kernel), SizeIs(1));
  ASSERT_THAT(incomplete(), SizeIs(1));
  EXPECT_THAT(incomplete()[0], HasSubstr("a record is cut off"));
}

TEST_F(Session, ABufferThatCuptiCannotReadOnInIsSaid) {
  ASSERT_TRUE(session_->start());
  cupti_->append(kernel(0, 10, "whole"));
  cupti_->end_of_buffer = CUPTI_ERROR_INVALID_KIND;  // "either incomplete or invalid"
  cupti_->deliver();
  EXPECT_THAT(added().of(RecordType::kernel), SizeIs(1));
  ASSERT_THAT(incomplete(), SizeIs(1));
  EXPECT_THAT(incomplete()[0], HasSubstr("fake message 21"));
}

TEST_F(Session, WholeGraphsAreNoUnknownRecords) {
  ASSERT_TRUE(session_->start());
  CUpti_ActivityGraphTrace graph{};
  graph.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  cupti_->append(graph);
  session_->flush();
  EXPECT_THAT(said(DiagnosticCode::cupti_unknown_record), IsEmpty());
  ASSERT_THAT(incomplete(), SizeIs(1));
  EXPECT_THAT(incomplete()[0], HasSubstr("as a whole"));
}

// A killed process loses the records in CUPTI's buffers: CUPTI's own period returns only full buffers.
TEST_F(Session, EveryPeriodCuptiIsAskedForWhatItHas) {
  make({.period = std::chrono::milliseconds(5)});
  ASSERT_TRUE(session_->start());
  cupti_->append(kernel(0, 10, "early"));
  EXPECT_TRUE(eventually([this] { return added().of(RecordType::kernel).size() == 1; }));
  session_->flush();
  EXPECT_EQ(cupti_->forced_flushes(), 1);
  EXPECT_THAT(incomplete(), IsEmpty());
  EXPECT_THAT(added().of(RecordType::api_call), IsEmpty());  // heartbeats are not calls of the program
}

// A flush would crash if CUPTI is detached meanwhile.
TEST_F(Session, WhoeverMayDetachCuptiIsNotFlushedBeside) {
  make({.period = std::chrono::milliseconds(1)});
  ASSERT_TRUE(session_->start({.flush_alone = true}));
  usleep(50'000);
  session_->flush();
  EXPECT_EQ(cupti_->plain_flushes(), 0);
  EXPECT_EQ(cupti_->forced_flushes(), 1);
}

TEST_F(Session, ACuptiThatHangsDoesNotHoldTheProcessUp) {
  make({.period = std::chrono::hours(1), .end = std::chrono::milliseconds(50)});
  std::promise<void> release;
  cupti_->before_flush = [wait = release.get_future().share()] { wait.wait(); };
  ASSERT_TRUE(session_->start());
  session_->flush();
  EXPECT_EQ(cupti_->forced_flushes(), 1);
  ASSERT_THAT(incomplete(), SizeIs(1));
  EXPECT_THAT(incomplete()[0], HasSubstr("did not answer within"));
  session_->flush();  // must not report anything twice
  EXPECT_THAT(incomplete(), SizeIs(1));
  release.set_value();
}

TEST_F(Session, WhatCuptiDoesNotHandOverAtTheEndIsSaid) {
  ASSERT_TRUE(session_->start());
  cupti_->flush_result = CUPTI_ERROR_INVALID_OPERATION;  // after cuptiFinalize
  session_->flush();
  ASSERT_THAT(incomplete(), SizeIs(1));
  EXPECT_THAT(incomplete()[0], HasSubstr("to deliver its last records"));
}

// Like torch.profiler: its callbacks replace ours, and neither profiler handles the other one's buffers.
std::uint8_t others_buffer[4096];
int others_completed;
void others_request(std::uint8_t** buffer, std::size_t* size, std::size_t*) {
  *buffer = others_buffer, *size = sizeof others_buffer;
}
void others_complete(CUcontext, std::uint32_t, std::uint8_t*, std::size_t, std::size_t) { ++others_completed; }

TEST_F(Session, AProfilerThatTakesCuptiOverIsToldAndLeftAlone) {
  make({.period = std::chrono::milliseconds(5)});
  ASSERT_TRUE(session_->start());
  cupti_->append(kernel(0, 10, "ours"));
  ASSERT_TRUE(eventually([this] { return added().of(RecordType::kernel).size() == 1; }));
  ASSERT_TRUE(eventually([this] { return cupti_->plain_flushes() > 2; }));
  others_completed = 0;
  cupti_->taken_over_by(others_request, others_complete);
  usleep(1'000'000);  // 20 flushes without an answer are enough
  const int asked = cupti_->plain_flushes();
  usleep(100'000);
  EXPECT_EQ(cupti_->plain_flushes(), asked) << "CUPTI may be detached during a flush";
  session_->flush();
  EXPECT_GT(others_completed, 0);
  EXPECT_EQ(cupti_->forced_flushes(), 0) << "the other profiler may be destroyed at the end of the process";
  EXPECT_THAT(added().of(RecordType::kernel), SizeIs(1));
  ASSERT_THAT(incomplete(), SizeIs(1));
  EXPECT_THAT(incomplete()[0], AllOf(HasSubstr("another profiler"), HasSubstr("torch.profiler")));
}

// The other profiler's objects are constructed by now. An exit handler that is registered now runs before they are
// destroyed. Without a profiler none is registered.
TEST_F(Session, AtAnUnansweredFlushTheEndIsRegisteredAgain) {
  make({.period = std::chrono::milliseconds(5)});
  std::atomic<int> registered = 0;
  ASSERT_TRUE(session_->start({.register_end = [&] { ++registered; }}));
  ASSERT_TRUE(eventually([this] { return cupti_->plain_flushes() > 5; }));
  EXPECT_EQ(registered, 0);
  const int flushes = cupti_->plain_flushes();
  cupti_->taken_over_by(others_request, others_complete);
  ASSERT_TRUE(eventually([&] { return cupti_->plain_flushes() >= flushes + 3; }));
  EXPECT_GE(registered, 1) << "the second flush of the other profiler must find the end registered";
  ASSERT_TRUE(eventually([&] { return cupti_->plain_flushes() > flushes + 15; }));
  EXPECT_LE(registered, 8);
  session_->flush();
}

TEST_F(Session, AProfilerThatHasCuptiBeforeTheFirstFlushIsToldAndNotFlushedAtTheEnd) {
  make({.period = std::chrono::milliseconds(100)});
  ASSERT_TRUE(session_->start());
  cupti_->taken_over_by(others_request, others_complete);
  ASSERT_TRUE(eventually([this] { return cupti_->plain_flushes() > 10; }));
  session_->flush();
  EXPECT_EQ(cupti_->forced_flushes(), 0);
  ASSERT_THAT(incomplete(), SizeIs(1));
  EXPECT_THAT(incomplete()[0], AllOf(HasSubstr("delivered no records"), HasSubstr("torch.profiler")));
}

// For example a driver that takes seconds to start: it does not record heartbeats until then.
TEST_F(Session, ACuptiThatDeliversLateIsFlushedAtTheEnd) {
  make({.period = std::chrono::milliseconds(5)});
  cupti_->held_deliveries = 30;
  ASSERT_TRUE(session_->start());
  ASSERT_TRUE(eventually([this] { return cupti_->held_deliveries == 0 && cupti_->plain_flushes() > 35; }));
  session_->flush();
  EXPECT_EQ(cupti_->forced_flushes(), 1);
  EXPECT_THAT(incomplete(), IsEmpty());
}

// An older CUPTI cannot record single calls, so it records no heartbeats. It has nothing to deliver until the program
// uses the GPU.
TEST_F(Session, WithoutRecordsBeforeTheEndAnOlderCuptiIsFlushed) {
  make({.period = std::chrono::milliseconds(5)});
  cupti_->driver_result = CUPTI_ERROR_NOT_SUPPORTED;
  cupti_->held_deliveries = 1'000'000;
  ASSERT_TRUE(session_->start());
  ASSERT_TRUE(eventually([this] { return cupti_->plain_flushes() > 30; }));
  cupti_->held_deliveries = 0;
  cupti_->append(kernel(0, 10, "late"));
  session_->flush();
  EXPECT_EQ(cupti_->forced_flushes(), 1);
  EXPECT_THAT(incomplete(), IsEmpty());
}

// A heartbeat may stay in a buffer with a kernel that still runs. Another buffer of ours shows that CUPTI is still
// ours. FakeCupti delivers an empty buffer at each flush.
TEST_F(Session, ALateHeartbeatDoesNotPreventTheLastFlush) {
  make({.period = std::chrono::milliseconds(5)});
  ASSERT_TRUE(session_->start());
  ASSERT_TRUE(eventually([this] { return cupti_->plain_flushes() > 2; }));
  cupti_->records_calls = false;
  const int flushes = cupti_->plain_flushes();
  EXPECT_TRUE(eventually([&] { return cupti_->plain_flushes() > flushes + 20; }));
  session_->flush();
  EXPECT_EQ(cupti_->forced_flushes(), 1);
}

// Older versions of CUPTI record heartbeat and kernels in one buffer. They do not deliver it while a kernel runs.
TEST_F(Session, FewUnansweredFlushesDoNotPreventTheLastFlush) {
  make({.period = std::chrono::milliseconds(5)});
  ASSERT_TRUE(session_->start());
  ASSERT_TRUE(eventually([this] { return cupti_->plain_flushes() > 2; }));
  cupti_->held_deliveries = 7;
  ASSERT_TRUE(eventually([this] { return cupti_->held_deliveries == 0; }));
  session_->flush();
  EXPECT_EQ(cupti_->forced_flushes(), 1);
  EXPECT_THAT(incomplete(), IsEmpty());
}

// Each period lasts far longer than planned, as on a busy machine or in a process that was stopped.
TEST_F(Session, ASlowMachineDoesNotEndTheFlushes) {
  make({.period = std::chrono::milliseconds(1)});
  ASSERT_TRUE(session_->start());
  ASSERT_TRUE(eventually([this] { return cupti_->plain_flushes() > 2; }));
  cupti_->driver_call_ms = 30;  // the heartbeat is then 30 periods old at each flush
  const int flushes = cupti_->plain_flushes();
  EXPECT_TRUE(eventually([&] { return cupti_->plain_flushes() > flushes + 10; }));
  session_->flush();
  EXPECT_EQ(cupti_->forced_flushes(), 1);
  EXPECT_THAT(incomplete(), IsEmpty());
}

// If CUPTI never records the heartbeat, a missing heartbeat has no meaning.
TEST_F(Session, WithoutHeartbeatsNobodyIsSuspected) {
  make({.period = std::chrono::milliseconds(5)});
  cupti_->records_calls = false;
  ASSERT_TRUE(session_->start());
  usleep(50'000);
  session_->flush();
  EXPECT_THAT(incomplete(), IsEmpty());
}

TEST_F(Session, AnotherProfilersBuffersAreNeitherReadNorFreed) {
  ASSERT_TRUE(session_->start());
  const CUpti_ActivityKernel8 theirs = kernel(0, 10, "theirs");
  std::memcpy(others_buffer, &theirs, sizeof theirs);
  cupti_->completed()(nullptr, 0, others_buffer, sizeof others_buffer, sizeof theirs);  // free() would abort here
  session_->flush();
  EXPECT_THAT(added().of(RecordType::kernel), IsEmpty());
  ASSERT_THAT(incomplete(), SizeIs(1));
  EXPECT_THAT(incomplete()[0], HasSubstr("were not touched"));
}

// Kineto sets the processor's cycle counter as CUPTI's clock.
TEST_F(Session, TimesOfAnotherClockAreDroppedAndCounted) {
  ASSERT_TRUE(session_->start());
  cupti_->append(kernel(0, 10, "sound"));
  cupti_->append(kernel_at(123'456'789'012, 10, "in cycles"));
  session_->flush();
  EXPECT_THAT(added().of(RecordType::kernel), SizeIs(1));
  EXPECT_EQ(added().dropped_cupti, 1u);
  EXPECT_THAT(said(DiagnosticCode::cupti_dropped), Each(HasSubstr("another clock")));
}

// Must be the last test, because the shard is long after it.
class LongSession : public Session {};

TEST_F(LongSession, AMillionKernelsTakeFewBuffersAndNoneIsLost) {
  ASSERT_TRUE(session_->start());
  constexpr int buffers = 200, each = 5'000;
  static_assert(each * sizeof(CUpti_ActivityKernel8) <= CuptiBuffers::bytes);
  const std::uint64_t now = cupti_->now();
  for (int i = 0; i < buffers; ++i) {
    for (int k = 0; k < each; ++k) cupti_->append(kernel_at(now, 10, "many"));
    cupti_->deliver();
  }
  session_->flush();
  const test::Shard recorded = added();
  EXPECT_EQ(recorded.of(RecordType::kernel).size(), std::size_t{buffers} * each);
  EXPECT_EQ(recorded.dropped_cupti, 0u);
  EXPECT_EQ(recorded.dropped, 0u);
  EXPECT_LE(cupti_->different_buffers(), 2u);
  EXPECT_THAT(incomplete(), IsEmpty());
}

}  // namespace
}  // namespace ddpprof::record
