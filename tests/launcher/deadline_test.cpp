// Time limits of waits inside of libraries. Runs under the thread sanitizer too.
#include "runner/launcher/deadline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace ddpprof::launcher {
namespace {

using std::chrono::milliseconds;

TEST(Deadline, CallsOnceWhenItIsOver) {
  std::atomic<int> calls = 0;
  {
    const Deadline deadline(milliseconds(20), [&] { ++calls; });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (calls == 0 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(calls, 1);
}

TEST(Deadline, CallsNobodyWhenItEndsInTime) {
  std::atomic<int> calls = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) const Deadline deadline(std::chrono::hours(1), [&] { ++calls; });
  EXPECT_EQ(calls, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(10));
}

TEST(Deadline, ItsEndWaitsForACallThatHasBegun) {
  std::atomic<bool> begun = false, ended = false;
  {
    const Deadline deadline(milliseconds(0), [&] {
      begun = true;
      std::this_thread::sleep_for(milliseconds(50));
      ended = true;
    });
    while (!begun) std::this_thread::yield();
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace ddpprof::launcher
