// Runs a look that may never return, such as a call into a driver or a file system that hangs, for a limited time.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace ddpprof::host {

// Whether a look of this process was left behind. It may hold what exit() waits for, such as the loader's lock: such a
// process ends with _Exit.
inline std::atomic<bool> look_left_behind{false};

// What `look` returns or throws, or nothing when that takes longer than `limit`. Such a call cannot be interrupted: a
// thread of its own waits for it and is then left behind, so `look` holds by value whatever it uses.
template <class Look>
auto within(std::chrono::milliseconds limit, Look look) -> std::optional<decltype(look())> {
  using Found = decltype(look());
  auto promise = std::make_shared<std::promise<Found>>();
  std::future<Found> answer = promise->get_future();
  std::thread([promise, look = std::move(look)] {
    try {
      promise->set_value(look());
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  }).detach();
  if (answer.wait_for(limit) != std::future_status::ready) {
    look_left_behind = true;
    return std::nullopt;
  }
  return answer.get();
}

inline std::string no_answer(std::chrono::milliseconds limit) {
  return "no answer within " + std::to_string(limit.count()) + " ms";
}

}  // namespace ddpprof::host
