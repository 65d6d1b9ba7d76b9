// An uncaught exception in a library's thread ends the worker like one in its own thread.
#include "runner/worker/leave.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <exception>
#include <functional>
#include <stdexcept>
#include <thread>

#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

void throw_on_a_thread(const std::function<void()>& what) {
  fail_where_a_thread_throws("ddpprof-worker: rank 3");
  status::set(status::Activity::backward, 17);
  std::thread(what).join();
}

// c10d's watchdog over NCCL throws on its thread if a collective does not end in time.
TEST(Leave, AThreadThatThrowsEndsTheRankWithItsStepAndPhase) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(throw_on_a_thread([] { throw std::runtime_error("a peer is lost\n#0 a stack trace"); }),
              testing::ExitedWithCode(failed),
              "ddpprof-worker: rank 3 failed while backward and all-reduce .step 17.: a peer is lost\n$");
  EXPECT_EXIT(throw_on_a_thread([] { throw 5; }), testing::ExitedWithCode(failed), "an exception of an unknown kind");
}

// Without an exception the process aborts, with a core file: this is an error of the program itself.
TEST(Leave, WhereNothingWasThrownTheProcessAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(throw_on_a_thread([] { std::terminate(); }), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace ddpprof::worker
