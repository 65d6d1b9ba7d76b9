// Work shared by as many threads as the machine starts.
#include "analysis/import/load/reading/lanes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <system_error>

namespace ddpprof::import {
namespace {

struct Ran {
  std::mutex mutex;
  std::set<std::size_t> lanes;
  std::size_t of = 0;

  Lanes::Job job() {
    return [this](std::size_t lane, std::size_t count) {
      const std::lock_guard lock(mutex);
      lanes.insert(lane);
      of = count;
    };
  }
};

// Starts `left` threads, then fails.
Lanes::Start only(int& left) {
  return [&left](std::function<void()> run) {
    if (left-- <= 0) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    return std::thread(std::move(run));
  };
}

TEST(Lanes, EachRunsOnce) {
  Ran run;
  Lanes lanes(3, run.job());
  EXPECT_EQ(lanes.count(), 3U);
  lanes.run();
  EXPECT_EQ(run.lanes, (std::set<std::size_t>{0, 1, 2}));
  EXPECT_EQ(run.of, 3U);
}

TEST(Lanes, ThoseThatCouldBeStartedKnowThatTheyAreFewer) {
  Ran run;
  int left = 2;
  Lanes lanes(5, run.job(), only(left));
  EXPECT_EQ(lanes.count(), 2U);
  lanes.run();
  EXPECT_EQ(run.lanes, (std::set<std::size_t>{0, 1}));
  EXPECT_EQ(run.of, 2U);
}

TEST(Lanes, WhereNoneCanBeStartedTheCallerDoesIt) {
  Ran run;
  int left = 0;
  Lanes lanes(5, run.job(), only(left));
  EXPECT_EQ(lanes.count(), 1U);
  lanes.run();
  EXPECT_EQ(run.lanes, std::set<std::size_t>{0});
  EXPECT_EQ(run.of, 1U);
}

TEST(Lanes, WithoutRunNothingIsDone) {
  Ran run;
  { const Lanes lanes(3, run.job()); }
  EXPECT_TRUE(run.lanes.empty());
}

}  // namespace
}  // namespace ddpprof::import
