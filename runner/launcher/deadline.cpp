#include "runner/launcher/deadline.hpp"

#include <utility>

namespace ddpprof::launcher {

Deadline::Deadline(std::chrono::milliseconds limit, std::function<void()> late)
    : thread_([this, end = std::chrono::steady_clock::now() + limit, late = std::move(late)] {
        std::unique_lock lock(mutex_);
        if (wake_.wait_until(lock, end, [this] { return over_; })) return;
        lock.unlock();
        late();
      }) {}

Deadline::~Deadline() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

}  // namespace ddpprof::launcher
