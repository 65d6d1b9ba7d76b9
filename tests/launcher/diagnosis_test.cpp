#include "runner/launcher/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ddpprof::launcher {
namespace {

Observation at(std::int64_t step, Activity activity, double idle_s) {
  Observation seen;
  seen.status = {.activity = activity, .step = step, .steps_planned = 20, .updated_ns = 1};
  seen.idle_s = idle_s;
  return seen;
}

Observation ended(int code, Activity activity, std::vector<std::string> lines = {}) {
  Observation seen = at(3, activity, 0);
  seen.running = false;
  seen.exit_code = code;
  seen.last_lines = std::move(lines);
  return seen;
}

TEST(HungRank, NobodyBeforeTheLimit) {
  const std::vector<Observation> ranks = {at(3, Activity::forward, 9.9), at(3, Activity::backward, 9.9)};
  EXPECT_EQ(hung_rank(ranks, 10), -1);
}

TEST(HungRank, TheEarlierStepThenTheEarlierPhase) {
  EXPECT_EQ(hung_rank(std::vector{at(4, Activity::backward, 10), at(3, Activity::optimizer, 11)}, 10), 1);
  EXPECT_EQ(hung_rank(std::vector{at(4, Activity::backward, 11), at(4, Activity::data_wait, 10)}, 10), 1);
}

TEST(HungRank, AStoppedOneBeforeAll) {
  std::vector<Observation> ranks = {at(3, Activity::forward, 10), at(4, Activity::backward, 10)};
  ranks[1].stopped_by = SIGSTOP;
  EXPECT_EQ(hung_rank(ranks, 10), 1);
}

// Rank 1 waits in an all-reduce while rank 0 times steps alone: not a hang as long as rank 0 makes progress.
TEST(HungRank, WaitingForOneThatMovesIsNone) {
  const std::vector<Observation> ranks = {at(3, Activity::unwrapped_step, 0.1), at(9, Activity::all_reduce, 60)};
  EXPECT_EQ(hung_rank(ranks, 10), -1);
}

TEST(HungRank, StandingStillWithoutWaitingIsOneWhoeverMoves) {
  const std::vector<Observation> ranks = {at(9, Activity::backward, 0.1), at(3, Activity::data_wait, 10)};
  EXPECT_EQ(hung_rank(ranks, 10), 1);
}

TEST(HungRank, AnEndedOneIsNone) {
  const std::vector<Observation> ranks = {ended(0, Activity::done), at(20, Activity::finishing, 10)};
  EXPECT_EQ(hung_rank(ranks, 10), 1);
}

TEST(FailedRank, ASignalBeforeACodeBeforeALostConnection) {
  Observation killed = ended(0, Activity::forward);
  killed.exit_code.reset();
  killed.signal = SIGKILL;
  const Observation lost =
      ended(1, Activity::backward, {"RuntimeError: [pair.cc] Connection closed by peer [127.0.0.1]:1"});
  EXPECT_EQ(failed_rank(std::vector{lost, killed, lost}), 1);
  EXPECT_EQ(failed_rank(std::vector{lost, ended(3, Activity::forward)}), 1);
  EXPECT_EQ(failed_rank(std::vector{at(3, Activity::forward, 0), lost}), 1);
  EXPECT_EQ(failed_rank(std::vector{ended(0, Activity::done)}), -1);
}

TEST(FailedRank, TheEarlierStepOfTwoThatEndedAlike) {
  const auto at_step = [](std::int64_t step) {
    Observation rank = ended(4, Activity::optimizer, {"the loss is nan"});
    rank.status.step = step;
    return rank;
  };
  EXPECT_EQ(failed_rank(std::vector{at_step(11), at_step(10), at_step(11)}), 1);
  EXPECT_EQ(failed_rank(std::vector{at_step(10), at_step(10)}), 0);
}

TEST(FailedRank, CodeZeroNeedsToHaveReportedDone) {
  EXPECT_FALSE(has_failed(ended(0, Activity::done)));
  EXPECT_TRUE(has_failed(ended(0, Activity::finishing)));
  EXPECT_TRUE(has_failed(ended(1, Activity::done)));
}

TEST(Messages, NameSignals) {
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
}

TEST(Messages, SayWhoKilledARankWhereThatIsKnown) {
  Observation killed = ended(0, Activity::forward);
  killed.exit_code.reset();
  killed.signal = SIGKILL;
  const std::vector<Observation> ranks = {killed};
  EXPECT_THAT(failure_message(ranks, 0, "x.log"), testing::HasSubstr("may have run out of memory."));
  const std::string told = failure_message(ranks, 0, "x.log", "The killer did.");
  EXPECT_THAT(told, testing::HasSubstr("). The killer did. Its output is in x.log."));
  EXPECT_THAT(told, testing::Not(testing::HasSubstr("may have")));
}

TEST(Messages, ListEveryPlaceTheOthersWaitIn) {
  const std::vector<Observation> ranks = {at(4, Activity::backward, 10), at(3, Activity::forward, 10),
                                          at(4, Activity::backward, 10), at(4, Activity::data_wait, 10)};
  EXPECT_THAT(
      hang_message(ranks, 1, 10, "x.log"),
      testing::StartsWith("Rank 1 hangs in step 3 of 20 (forward); ranks 0 and 2 wait for it in step 4 of 20 "
                          "(backward and all-reduce); rank 3 waits for it in step 4 of 20 (waiting for data). "));
}

TEST(LastLines, AreAtMostTwentyOfTheEndAndPrintable) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / ("ddpprof-last-lines-" + std::to_string(getpid()));
  EXPECT_TRUE(last_lines(file).empty());
  {
    std::ofstream out(file);
    for (int line = 0; line < 10000; ++line) out << "line " << line << "\n";
    out << "\x1b[31mred\n" << std::string(1000, 'x');
  }
  const std::vector<std::string> lines = last_lines(file);
  std::filesystem::remove(file);
  ASSERT_EQ(lines.size(), 20u);
  EXPECT_EQ(lines[0], "line 9982");
  EXPECT_EQ(lines[18], "?[31mred");
  EXPECT_EQ(lines[19], std::string(400, 'x') + "…");
}

}  // namespace
}  // namespace ddpprof::launcher
