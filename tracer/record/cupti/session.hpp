// CUPTI's life in a traced process: what is enabled, where its buffers go, what is lost, who else wants it.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "tracer/format/shard_format.hpp"
#include "tracer/record/cupti/advice.hpp"
#include "tracer/record/cupti/api.hpp"
#include "tracer/record/cupti/buffers.hpp"
#include "tracer/record/cupti/clock.hpp"
#include "tracer/record/cupti/flusher.hpp"

namespace ddpprof::record {

struct CuptiTimes {
  std::chrono::milliseconds period{1000};  // between two flushes: what a killed process may lose
  std::chrono::milliseconds end{10'000};   // that the process's end may wait for CUPTI
};

// Another profiler of the process (torch.profiler's Kineto, say) may register its own buffers at any time; CUPTI then
// forgets ours, and tells nobody. Once a period the session therefore makes a driver call that CUPTI records: when the
// last of these did not come back although earlier ones did, somebody else has got the records since. It is told, and
// CUPTI is left to the other one.
class CuptiSession {
 public:
  explicit CuptiSession(std::unique_ptr<CuptiApi> api, CuptiTimes times = {});

  // Enables what can be enabled. False when no GPU activity at all will come; every refusal leaves a diagnostic that
  // says what to do. `flush_alone`: someone may detach CUPTI while the program runs (Kineto with TEARDOWN_CUPTI=1),
  // which a flush from another thread does not survive: only the last flush is made.
  bool start(bool flush_alone = false);

  // CUPTI's two callbacks. A buffer that is not ours is left alone: who registered before us made it.
  std::uint8_t* request(std::size_t& size);
  // Writes the records of a completed buffer into the calling thread's log, and counts what CUPTI dropped. In a forked
  // child it does nothing: what CUPTI's buffers held at the fork is the parent's, and the parent writes it.
  void complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid_bytes);

  // Collects what is still on its way, at the process's end; gives up after `times.end`. Once. In a forked child, where
  // CUPTI must not be called, nothing.
  void flush();

  // CUPTI's callbacks carry no user data: they reach this session.
  static void set_current(CuptiSession* session);
  std::uint64_t timestamp() const;  // CUPTI's clock while it takes its times from us
  std::size_t most_buffers() const noexcept { return buffers_.most(); }  // that CUPTI had at a time

 private:
  CuptiClock::Pair read_pair();
  CuptiClock clock();
  bool enable();
  void refused(const char* what, CUptiResult result, trace::DiagnosticCode code);
  void count_dropped(CUcontext context, std::uint32_t stream);
  void consume(std::uint8_t* buffer, std::size_t valid_bytes);
  void tick();
  void last_flush();
  bool beat();
  bool in_forked_child() const { return getpid() != owner_; }

  std::unique_ptr<CuptiApi> api_;
  CuptiTimes times_;
  pid_t owner_ = getpid();
  CuptiVersions versions_;
  CuptiBuffers buffers_;
  bool limited_ = false;    // CUPTI goes on when it gets no buffer
  bool own_clock_ = false;  // CUPTI takes its timestamps from us
  bool flush_alone_ = false;
  std::int64_t ahead_ns_ = 0;    // of our clock for CUPTI before CLOCK_MONOTONIC
  std::int64_t started_ns_ = 0;  // CLOCK_MONOTONIC
  std::mutex clock_mutex_;
  CuptiClock::Pair last_pair_;
  std::atomic<std::uint64_t> foreign_buffers_{0}, foreign_times_{0};
  std::atomic<std::int64_t> beat_sent_ns_{0}, beat_seen_ns_{0};  // CLOCK_MONOTONIC; of the last heartbeat
  std::atomic<std::uint64_t> dropped_{0};
  std::unique_ptr<CuptiFlusher> flusher_;  // last: its thread uses all of the above
};

}  // namespace ddpprof::record
