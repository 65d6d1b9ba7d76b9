// Runs a function that may never return, such as a call into a driver or a hanging file system, with a time limit.
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

// Returns true if a call of this process was abandoned. It may hold a lock that exit() waits for, such as the loader's,
// so such a process must end with _Exit.
inline std::atomic<bool> look_left_behind{false};

// Returns what `look` returns or throws, or nothing if that takes longer than `limit`. Such a call cannot be
// interrupted: a separate thread runs it and is then abandoned. So `look` must hold everything it uses by value.
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
