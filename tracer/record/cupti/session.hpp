// A session of CUPTI in a traced process: enables activities, handles buffers, counts losses, detects other profilers.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "tracer/format/shard_format.hpp"
#include "tracer/record/cupti/advice.hpp"
#include "tracer/record/cupti/api.hpp"
#include "tracer/record/cupti/buffers.hpp"
#include "tracer/record/cupti/clock.hpp"
#include "tracer/record/cupti/flusher.hpp"
#include "tracer/record/cupti/timestamps.hpp"

namespace ddpprof::record {

struct CuptiTimes {
  std::chrono::milliseconds period{250};  // between two flushes: a killed process may lose this much
  std::chrono::milliseconds end{10'000};  // longest wait for CUPTI at the end of the process
};

struct CuptiOptions {
  // Another tool may detach CUPTI while the program runs (Kineto with TEARDOWN_CUPTI=1). A flush on another thread
  // would crash then, so only the last flush is made.
  bool flush_alone = false;
  std::optional<CuptiTimestamps> timestamps = {};  // unset: default_timestamps()
  // Registers a call of flush() at the end of the process, before the calls that are registered already. Called on the
  // session's thread when another profiler may have registered its buffers. May be empty.
  std::function<void()> register_end = {};
};

// Another profiler of the process (for example Kineto of torch.profiler) may register its own buffers at any time.
// CUPTI then drops our registration without a notification, and a flush calls the other profiler. So once per period
// the session makes a driver call that CUPTI records, the heartbeat, and flushes CUPTI. A flush is unanswered if CUPTI
// has delivered no buffer since its heartbeat.
//
// The other profiler's objects may be destroyed before the session's last flush. Exit handlers and destructors run in
// the reverse order of their registration. So at an unanswered flush the session registers its end again: the last
// flush is then made, and periodic flushes end, before objects that exist by now are destroyed.
//
// If eight flushes in a row are unanswered, and CUPTI has recorded heartbeats before, or has never delivered anything,
// another profiler receives the records. This is recorded as a diagnostic, and the session does not flush at the end.
class CuptiSession {
 public:
  explicit CuptiSession(std::unique_ptr<CuptiApi> api, CuptiTimes times = {});

  // Enables all activities that CUPTI allows. Returns false if no GPU activity will be recorded. Every refusal leaves a
  // diagnostic with advice.
  bool start(const CuptiOptions& options = {});

  // CUPTI's two callbacks. Buffers of a profiler that registered before us are not touched.
  std::uint8_t* request(std::size_t& size);
  // Writes the records of a completed buffer into the calling thread's log, and counts the records that CUPTI dropped.
  // Does nothing in a forked child: the buffers at the fork belong to the parent, which writes them.
  void complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid_bytes);

  // Collects the outstanding records at the end of the process; gives up after `times.end`. Later calls do nothing.
  // Does nothing in a forked child, where CUPTI must not be called.
  void flush();

  // CUPTI's callbacks have no user data: they use this session.
  static void set_current(CuptiSession* session);
  std::uint64_t timestamp() const;  // the clock for CUPTI, if CUPTI takes its times from us

 private:
  CuptiClock::Pair read_pair();
  CuptiClock clock();
  bool enable();
  void skip_runtime_calls();
  void refused(const char* what, CUptiResult result, trace::DiagnosticCode code);
  void count_dropped(CUcontext context, std::uint32_t stream);
  void consume(std::uint8_t* buffer, std::size_t valid_bytes);
  void tick();
  void last_flush();
  bool beat();
  bool answered() const;         // true if CUPTI has delivered a buffer since the last heartbeat
  void count_unanswered();       // of the last heartbeat; called before the next one
  bool never_delivered() const;  // true if no heartbeat has been delivered, although CUPTI accepted to record them
  bool left_to_another() const;  // true if another profiler receives the records
  void explain_losses();
  bool in_forked_child() const { return getpid() != owner_; }

  std::unique_ptr<CuptiApi> api_;
  CuptiTimes times_;
  pid_t owner_ = getpid();
  CuptiVersions versions_;
  CuptiBuffers buffers_;
  bool limited_ = false;    // CUPTI keeps working when it gets no buffer
  bool own_clock_ = false;  // CUPTI takes its timestamps from us
  bool flush_alone_ = false;
  bool beat_enabled_ = false;  // CUPTI has accepted to record the heartbeat
  std::function<void()> register_end_;
  std::int64_t ahead_ns_ = 0;    // our clock for CUPTI minus CLOCK_MONOTONIC
  std::int64_t started_ns_ = 0;  // CLOCK_MONOTONIC
  std::mutex clock_mutex_;
  CuptiClock::Pair last_pair_;
  std::atomic<std::uint64_t> foreign_buffers_{0}, foreign_times_{0};
  std::atomic<std::int64_t> beat_sent_ns_{0}, beat_seen_ns_{0};  // CLOCK_MONOTONIC; of the last heartbeat
  std::atomic<std::int64_t> delivered_ns_{0};                    // CLOCK_MONOTONIC; when CUPTI last delivered a buffer
  std::atomic<std::uint64_t> dropped_{0};
  int unanswered_ = 0;                     // unanswered flushes in a row; used only by the flusher's thread
  int ends_registered_ = 0;                // used only by the flusher's thread
  std::unique_ptr<CuptiFlusher> flusher_;  // last member: its thread uses all members above
};

}  // namespace ddpprof::record
