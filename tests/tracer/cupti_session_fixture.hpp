// A session on a fake CUPTI, and the records that it adds to the shard of the test program.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>

#include "tests/tracer/fake_cupti.hpp"
#include "tests/tracer/run_program.hpp"
#include "tracer/record/cupti/session.hpp"
#include "tracer/record/recorder/recorder.hpp"

namespace ddpprof::record {

// A process has one recorder, so all tests of a program share its shard. Each test reads only the records it adds.
class Session : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const test::TemporaryFolder folder;
    static const bool once = [] {
      setenv("DDPPROF_TRACE_DIR", folder.path().c_str(), 1);
      path_ = folder.path();
      return true;
    }();
    ASSERT_TRUE(once && Recorder::instance().activate());
  }
  void SetUp() override { make({.period = std::chrono::hours(1)}); }  // only the last flush
  void TearDown() override {
    session_.reset();
    CuptiSession::set_current(nullptr);
  }
  void make(CuptiTimes times) {
    auto fake = std::make_unique<FakeCupti>();
    cupti_ = fake.get();
    session_ = std::make_unique<CuptiSession>(std::move(fake), times);
    CuptiSession::set_current(session_.get());
    earlier_.clear();
    for (const test::Record& record : shard().records) ++earlier_[record.chunk];
    earlier_dropped_ = shard().dropped_cupti;
  }

  static test::Shard shard() { return test::walk_all(path_).at(0); }
  test::Shard added() {  // the records of one thread are in order in its chunks
    test::Shard all = shard();
    std::map<std::uint64_t, std::size_t> seen;
    std::erase_if(all.records,
                  [&](const test::Record& record) { return seen[record.chunk]++ < earlier_[record.chunk]; });
    all.dropped_cupti -= earlier_dropped_;
    return all;
  }
  std::vector<std::string> said(trace::DiagnosticCode code) {
    std::vector<std::string> out;
    const test::Shard shard = added();
    for (const test::Record& record : shard.of(trace::RecordType::diagnostic))
      if (record.as<trace::DiagnosticRecord>().code == code) out.push_back(shard.name(record));
    return out;
  }
  std::vector<std::string> unavailable() { return said(trace::DiagnosticCode::cupti_unavailable); }
  std::vector<std::string> incomplete() { return said(trace::DiagnosticCode::cupti_incomplete); }

  // `start` and `end` in ns after CUPTI's current time.
  CUpti_ActivityKernel8 kernel(std::uint64_t start, std::uint64_t end, const char* name) const {
    return kernel_at(cupti_->now() + start, end - start, name);
  }
  static CUpti_ActivityKernel8 kernel_at(std::uint64_t start, std::uint64_t length, const char* name) {
    CUpti_ActivityKernel8 out{};
    out.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    out.start = start, out.end = start + length, out.name = name;
    return out;
  }
  template <typename Condition>
  static bool eventually(Condition holds) {
    for (int i = 0; i < 3000; ++i) {
      if (holds()) return true;
      usleep(10'000);
    }
    return false;
  }

  static inline std::filesystem::path path_;
  FakeCupti* cupti_ = nullptr;
  std::unique_ptr<CuptiSession> session_;
  std::map<std::uint64_t, std::size_t> earlier_;  // records of each chunk
  std::uint64_t earlier_dropped_ = 0;
};

}  // namespace ddpprof::record
