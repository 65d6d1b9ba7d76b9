// CUPTI's life in a traced process: what is enabled, where its buffers go, what is lost.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "tracer/record/cupti_api.hpp"
#include "tracer/record/cupti_clock.hpp"

namespace ddpprof::record {

class CuptiSession {
 public:
  explicit CuptiSession(std::unique_ptr<CuptiApi> api) : api_(std::move(api)) {}

  // Enables what can be enabled. False when no GPU activity at all will come; every refusal leaves a
  // `cupti_unavailable` diagnostic that says what to do.
  bool start();

  // Writes the records of a completed buffer into the calling thread's log, and counts what CUPTI dropped. In a forked
  // child it does nothing: what CUPTI's buffers held at the fork is the parent's, and the parent writes it.
  void consume(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid_bytes);

  // Collects what is still on its way; at the process's end. In a forked child, where CUPTI must not be called,
  // nothing.
  void flush();

  // CUPTI's callbacks carry no user data: they reach this session.
  static void set_current(CuptiSession* session);

 private:
  CuptiClock::Pair read_pair();
  void refused(const char* what, CUptiResult result);
  bool in_forked_child() const { return getpid() != owner_; }

  std::unique_ptr<CuptiApi> api_;
  pid_t owner_ = getpid();
  bool own_clock_ = false;  // CUPTI takes its timestamps from us
  std::mutex clock_mutex_;
  CuptiClock::Pair last_pair_;
};

}  // namespace ddpprof::record
