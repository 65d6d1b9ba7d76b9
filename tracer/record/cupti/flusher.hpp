// A thread that flushes CUPTI periodically, and a last time with a time limit.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace ddpprof::record {

// CUPTI itself returns only full buffers: a killed process could then lose activity of any length of time. CUPTI's own
// period (cuptiActivityFlushPeriod) does not change that, and it would replace the rules by which CUPTI's thread
// delivers full buffers early. So it is not set. The work is on its own thread, so that a CUPTI or driver that hangs
// cannot delay the end of the process.
class CuptiFlusher {
 public:
  // The thread calls `tick` once per period and `last` once at the end, never at the same time.
  CuptiFlusher(std::chrono::milliseconds period, std::function<void()> tick, std::function<void()> last);
  // Waits for the thread without a limit. A process that must not wait does not destroy the object.
  ~CuptiFlusher();
  CuptiFlusher(const CuptiFlusher&) = delete;
  CuptiFlusher& operator=(const CuptiFlusher&) = delete;

  // Lets the thread call `last` and waits. Returns false if `last`, or a tick before it, did not return within `limit`.
  // The thread then keeps running, so everything the two functions use must stay alive. Later calls do nothing.
  bool finish(std::chrono::milliseconds limit);
  bool runs() const noexcept { return state_ != nullptr; }  // false if no thread could be started

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ddpprof::record
