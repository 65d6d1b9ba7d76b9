// A thread of its own that asks CUPTI for what it holds: once in a while, and a last time with a limit.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace ddpprof::record {

// CUPTI's own period hands over full buffers only (cuptiActivityFlushPeriod): what a killed process may lose would be
// bounded by bytes, not by time. The thread is separate so that a CUPTI or a driver that hangs cannot hold the process
// up as it ends.
class CuptiFlusher {
 public:
  // `tick` is called once a period, `last` once at the end; both on the thread, never at the same time.
  CuptiFlusher(std::chrono::milliseconds period, std::function<void()> tick, std::function<void()> last);
  // Waits for the thread, however long it hangs: who must not wait destroys none.
  ~CuptiFlusher();
  CuptiFlusher(const CuptiFlusher&) = delete;
  CuptiFlusher& operator=(const CuptiFlusher&) = delete;

  // Has `last` called. False when that, or a tick before it, did not return within `limit`: the thread is left behind,
  // and what the functions use must stay. Later calls do nothing.
  bool finish(std::chrono::milliseconds limit);
  bool runs() const noexcept { return state_ != nullptr; }  // false: no thread could be started

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ddpprof::record
