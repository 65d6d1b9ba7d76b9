// A time limit for a wait inside a library that has no timeout of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace ddpprof::launcher {

// Calls `late` once, on its own thread, if it is not destroyed within `limit`. The destructor waits for a call that has
// begun.
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
