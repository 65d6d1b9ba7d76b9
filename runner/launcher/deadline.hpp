// The last resort against a hang: ends a wait that the waiting library itself does not end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace ddpprof::launcher {

// While it lives, `late` is called once, on a thread of its own, when `limit` is over. Its destructor waits for a call
// that has begun.
class Deadline {
 public:
  Deadline(std::chrono::milliseconds limit, std::function<void()> late);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace ddpprof::launcher
