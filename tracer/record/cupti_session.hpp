// CUPTI's life in a traced process: what is enabled, where its buffers go, what is lost.
#pragma once

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

  // Writes the records of a completed buffer into the calling thread's log, and counts what CUPTI dropped.
  void consume(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid_bytes);

  // Collects what is still on its way; at the process's end.
  void flush();

  // CUPTI's callbacks carry no user data: they reach this session.
  static void set_current(CuptiSession* session);

 private:
  CuptiClock::Pair read_pair();
  void refused(const char* what, CUptiResult result);

  std::unique_ptr<CuptiApi> api_;
  bool own_clock_ = false;  // CUPTI takes its timestamps from us
  std::mutex clock_mutex_;
  CuptiClock::Pair last_pair_;
};

}  // namespace ddpprof::record
