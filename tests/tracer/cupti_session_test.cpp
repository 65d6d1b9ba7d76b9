// The CUPTI session against a CUPTI of the test's making: what it enables, what it says when refused, what it records.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <map>
#include <set>

#include "tests/tracer/run_program.hpp"
#include "tracer/record/clock.hpp"
#include "tracer/record/cupti_session.hpp"
#include "tracer/record/recorder.hpp"

namespace ddpprof::record {
namespace {

using test::Record;
using test::Shard;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using trace::RecordType;

class FakeCupti final : public CuptiApi {
 public:
  CUptiResult get_version(std::uint32_t& version) override { return version = 130001, CUPTI_SUCCESS; }
  CUptiResult get_timestamp(std::uint64_t& timestamp_ns) override {
    timestamp_ns = static_cast<std::uint64_t>(monotonic_ns()) + clock_ahead_ns;
    return CUPTI_SUCCESS;
  }
  CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc requested,
                                 CUpti_BuffersCallbackCompleteFunc completed) override {
    requested_ = requested, completed_ = completed;
    return callbacks_result;
  }
  CUptiResult register_timestamp_callback(CUpti_TimestampCallbackFunc function) override {
    timestamp_ = function;
    return timestamp_result;
  }
  CUptiResult use_system_thread_ids() override { return CUPTI_SUCCESS; }
  CUptiResult enable(CUpti_ActivityKind kind) override {
    const auto refused = refusals.find(kind);
    if (refused != refusals.end()) return refused->second;
    if (enable_result == CUPTI_SUCCESS) enabled.insert(kind);
    return enable_result;
  }
  CUptiResult enable_driver_call(CUpti_CallbackId cbid) override { return driver_calls.insert(cbid), driver_result; }
  CUptiResult flush_all(std::uint32_t) override {
    ++flushes;
    deliver();
    return CUPTI_SUCCESS;
  }
  CUptiResult flush_period(std::uint32_t milliseconds) override { return period_ms = milliseconds, CUPTI_SUCCESS; }
  // As CUPTI's: from one record to the next, a null record asks for the first.
  CUptiResult next_record(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) override {
    std::size_t at = 0;
    for (const std::size_t size : sizes_) {
      auto* here = reinterpret_cast<CUpti_Activity*>(buffer + at);
      if (at >= valid_bytes) break;
      if (*record == nullptr) return *record = here, CUPTI_SUCCESS;
      if (*record == here) *record = nullptr;
      at += size;
    }
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  CUptiResult dropped_records(CUcontext, std::uint32_t, std::size_t& count) override {
    count = std::exchange(dropped, 0);
    return CUPTI_SUCCESS;
  }
  std::string message(CUptiResult result) override { return "fake message " + std::to_string(result); }

  template <typename Activity>
  void append(const Activity& activity) {
    pending_.append(reinterpret_cast<const char*>(&activity), sizeof activity);
    sizes_.push_back(sizeof activity);
  }
  void deliver() {
    if (requested_ == nullptr) return;
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0;
    requested_(&buffer, &size, &most);
    ASSERT_NE(buffer, nullptr);
    ASSERT_GE(size, pending_.size());
    std::memcpy(buffer, pending_.data(), pending_.size());
    completed_(nullptr, 0, buffer, size, pending_.size());
    pending_.clear(), sizes_.clear();
  }

  CUptiResult callbacks_result = CUPTI_SUCCESS, timestamp_result = CUPTI_SUCCESS, enable_result = CUPTI_SUCCESS,
              driver_result = CUPTI_SUCCESS;
  std::map<CUpti_ActivityKind, CUptiResult> refusals;
  std::uint64_t clock_ahead_ns = 0;
  std::size_t dropped = 0;
  int flushes = 0;
  std::set<CUpti_ActivityKind> enabled;
  std::set<CUpti_CallbackId> driver_calls;
  std::uint32_t period_ms = 0;
  CUpti_TimestampCallbackFunc timestamp_ = nullptr;

 private:
  CUpti_BuffersCallbackRequestFunc requested_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc completed_ = nullptr;
  std::string pending_;
  std::vector<std::size_t> sizes_;
};

// The recorder lives once in a process, so all tests of this program share its shard: each looks at what it adds.
class Session : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const test::TemporaryFolder folder;
    setenv("DDPPROF_TRACE_DIR", folder.path().c_str(), 1);
    path_ = folder.path();
    ASSERT_TRUE(Recorder::instance().activate());
  }
  void SetUp() override {
    auto fake = std::make_unique<FakeCupti>();
    cupti_ = fake.get();
    session_ = std::make_unique<CuptiSession>(std::move(fake));
    CuptiSession::set_current(session_.get());
    earlier_ = shard().records.size();
    earlier_dropped_ = shard().dropped_cupti;
  }
  void TearDown() override { CuptiSession::set_current(nullptr); }

  static Shard shard() { return test::walk_all(path_).at(0); }
  Shard added() {  // everything runs on this thread, so new records come last
    Shard all = shard();
    all.records.erase(all.records.begin(), all.records.begin() + static_cast<std::ptrdiff_t>(earlier_));
    all.dropped_cupti -= earlier_dropped_;
    return all;
  }
  std::vector<std::string> unavailable() {
    std::vector<std::string> out;
    const Shard shard = added();
    for (const Record& record : shard.of(RecordType::diagnostic)) {
      if (record.as<trace::DiagnosticRecord>().code == trace::DiagnosticCode::cupti_unavailable)
        out.push_back(shard.name(record));
    }
    return out;
  }
  static CUpti_ActivityKernel8 kernel(std::uint64_t start, std::uint64_t end, const char* name) {
    CUpti_ActivityKernel8 out{};
    out.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    out.start = start, out.end = end, out.name = name;
    return out;
  }

  static inline std::filesystem::path path_;
  FakeCupti* cupti_ = nullptr;
  std::unique_ptr<CuptiSession> session_;
  std::size_t earlier_ = 0;
  std::uint64_t earlier_dropped_ = 0;
};

TEST_F(Session, EnablesWhatAReportNeeds) {
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
  EXPECT_EQ(cupti_->period_ms, 1000u);
  EXPECT_THAT(unavailable(), IsEmpty());
  // CUPTI takes its times from our clock.
  const auto before = static_cast<std::uint64_t>(monotonic_ns());
  EXPECT_GE(cupti_->timestamp_(), before);
}

TEST_F(Session, RecordsABufferInOrderWithItsNames) {
  ASSERT_TRUE(session_->start());
  cupti_->append(kernel(100, 200, "first kernel"));
  CUpti_ActivityMemset4 memset_activity{};
  memset_activity.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  memset_activity.start = 300, memset_activity.end = 310, memset_activity.bytes = 64;
  cupti_->append(memset_activity);
  cupti_->append(kernel(400, 500, "second kernel"));
  session_->flush();
  const Shard shard = added();
  const std::vector<Record> kernels = shard.of(RecordType::kernel);
  ASSERT_THAT(kernels, SizeIs(2));
  EXPECT_EQ(shard.name(kernels[0]), "first kernel");
  EXPECT_EQ(kernels[0].time_ns, 100);
  EXPECT_EQ(kernels[0].as<trace::KernelRecord>().end_ns, 200);
  EXPECT_EQ(shard.name(kernels[1]), "second kernel");
  EXPECT_THAT(shard.of(RecordType::memcpy_), SizeIs(1));
}

TEST_F(Session, WithoutATimestampCallbackPairsOfReadingsMapTheClock) {
  cupti_->timestamp_result = CUPTI_ERROR_NOT_SUPPORTED;
  cupti_->clock_ahead_ns = 1'000'000'000'000;  // CUPTI's clock is 1000 s ahead of CLOCK_MONOTONIC
  ASSERT_TRUE(session_->start());
  const std::int64_t now_ns = monotonic_ns();
  const auto cupti_now = static_cast<std::uint64_t>(now_ns) + cupti_->clock_ahead_ns;
  cupti_->append(kernel(cupti_now, cupti_now + 500, "mapped"));
  session_->flush();
  const auto record = added().of(RecordType::kernel).at(0);
  // Read once or read late, a pair is off by far less than the clocks are apart.
  EXPECT_NEAR(static_cast<double>(record.time_ns - now_ns), 0.0, 1e9);
  EXPECT_NEAR(static_cast<double>(record.as<trace::KernelRecord>().end_ns - record.time_ns), 500.0, 2.0);
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
  cupti_->driver_result = CUPTI_ERROR_NOT_SUPPORTED;  // an older CUPTI: not worth a word
  EXPECT_TRUE(session_->start());
  EXPECT_TRUE(cupti_->enabled.contains(CUPTI_ACTIVITY_KIND_OVERHEAD));
  ASSERT_THAT(unavailable(), SizeIs(1));
  EXPECT_THAT(unavailable()[0], HasSubstr("CUPTI refused markers"));
}

TEST_F(Session, WhatCuptiDroppedAndWhatNobodyKnowsIsCounted) {
  ASSERT_TRUE(session_->start());
  cupti_->dropped = 12;
  CUpti_ActivityKernel8 strange = kernel(1, 2, "strange");
  strange.kind = static_cast<CUpti_ActivityKind>(4242);
  cupti_->append(strange);
  cupti_->append(strange);
  cupti_->append(kernel(0, 0, "without times"));
  cupti_->append(kernel(7, 8, "sound"));
  session_->flush();
  const Shard shard = added();
  EXPECT_EQ(shard.dropped_cupti, 13u);  // the one without times too: count and diagnostics tell of the same records
  EXPECT_EQ(shard.diagnostics(trace::DiagnosticCode::cupti_dropped), 13u);
  EXPECT_EQ(shard.diagnostics(trace::DiagnosticCode::cupti_unknown_record), 2u);
  EXPECT_THAT(shard.of(RecordType::kernel), SizeIs(1));
}

// exit() in a forked child runs the parent's exit handlers on a copy of CUPTI's buffers; the parent writes them itself.
TEST_F(Session, AForkedChildLeavesTheParentsBuffersAlone) {
  ASSERT_TRUE(session_->start());
  cupti_->append(kernel(600, 700, "the parent's"));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    session_->flush();
    const int flushes = cupti_->flushes;
    cupti_->deliver();  // and if CUPTI's copied thread came by
    _exit(flushes);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_THAT(test::walk_all(path_), SizeIs(1));  // no shard of the child's
  EXPECT_THAT(added().of(RecordType::kernel), IsEmpty());
  session_->flush();
  EXPECT_THAT(added().of(RecordType::kernel), SizeIs(1));
}

}  // namespace
}  // namespace ddpprof::record
