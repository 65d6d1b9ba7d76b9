// Real processes: the launcher's result for each kind of failure, and that no process is left.
#include "runner/launcher/launcher.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runner/launcher/rank_environment.hpp"

namespace ddpprof::launcher {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;
using testing::Contains;
using testing::HasSubstr;
using Outcome = LaunchResult::Outcome;

// Returns true if the process runs and is not a zombie. In a container without init a zombie may stay forever.
bool alive(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(in, text);
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() && text[end + 2] != 'Z' && text[end + 2] != 'X';
}

template <typename Condition>
bool within(double limit_s, Condition condition) {
  const auto end = steady_clock::now() + std::chrono::duration<double>(limit_s);
  while (!condition()) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

class Launcher : public testing::Test {
 protected:
  Launcher() {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "pids");
  }

  ~Launcher() override {
    for (const int pid : pids()) {
      // A killed process needs a moment to disappear.
      EXPECT_TRUE(within(10, [&] { return !alive(pid); })) << "process " << pid << " is left";
    }
    fs::remove_all(folder_);
  }

  LaunchOptions options(const std::vector<std::string>& behaviours) const {
    LaunchOptions options;
    for (std::size_t rank = 0; rank < behaviours.size(); ++rank) {
      options.ranks.push_back({.argv = {DDPPROF_TEST_RANK, behaviours[rank], (folder_ / "pids").string()},
                               .environment = rank_environment({.rank = static_cast<int>(rank),
                                                                .world_size = static_cast<int>(behaviours.size())})});
    }
    options.run_directory = folder_ / "run";
    options.timeout_s = 60;
    options.start_timeout_s = 60;
    options.grace_s = 20;
    return options;
  }

  // The timeout for intended hangs: much longer than a step of these ranks, even on a busy machine.
  LaunchOptions impatient(const std::vector<std::string>& behaviours) const {
    LaunchOptions options = this->options(behaviours);
    options.timeout_s = 2;
    return options;
  }

  std::vector<int> pids() const {
    std::vector<int> list;
    for (const auto& entry : fs::directory_iterator(folder_ / "pids")) {
      if (entry.is_regular_file()) list.push_back(std::stoi(entry.path().filename().string()));
    }
    return list;
  }

  std::string log(int rank) const {
    std::ifstream in(folder_ / "run" / ("rank-" + std::to_string(rank) + ".log"));
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("ddpprof-launcher-" + std::to_string(getpid()) + "-" +
                                                     testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Launcher, FineRanksEndFine) {
  int calls = 0;
  LaunchOptions fine = options({"fine", "fine"});
  fine.on_progress = [&](const Progress& progress) {
    ++calls;
    EXPECT_EQ(progress.ranks.size(), 2u);
  };
  const LaunchResult result = launch(fine);
  EXPECT_EQ(result.outcome, Outcome::ok) << result.message;
  EXPECT_EQ(result.message, "");
  EXPECT_EQ(result.rank, -1);
  ASSERT_EQ(result.ranks.size(), 2u);
  for (const RankExit& rank : result.ranks) {
    EXPECT_EQ(rank.exit_code, 0);
    EXPECT_EQ(rank.status.activity, Activity::done);
    EXPECT_EQ(rank.status.step, 10);
  }
  EXPECT_GT(result.wall_ns, 20'000'000);  // ten steps of at least 2 ms
  EXPECT_GE(calls, 1);
  EXPECT_EQ(log(0), "rank 0 of 2\n");
  EXPECT_EQ(log(1), "rank 1 of 2\n");
}

TEST_F(Launcher, WhoseConnectionWasLostFirstIsNotTheOneToBlame) {
  const LaunchResult result = launch(options({"loses-a-connection", "exits-3-late"}));
  EXPECT_EQ(result.outcome, Outcome::rank_failed);
  EXPECT_EQ(result.rank, 1);
  EXPECT_EQ(result.exit_code, 3);
}

TEST_F(Launcher, ALostConnectionThatNobodyExplainsIsBlamedAllTheSame) {
  const LaunchResult result = launch(options({"loses-a-connection", "waits"}));
  EXPECT_EQ(result.outcome, Outcome::rank_failed);
  EXPECT_EQ(result.rank, 0);
  EXPECT_EQ(result.exit_code, 4);
}

TEST_F(Launcher, AnExitCodeIsSaidWithRankStepAndLastLines) {
  const LaunchResult result = launch(options({"waits", "exits-3"}));
  EXPECT_EQ(result.outcome, Outcome::rank_failed);
  EXPECT_EQ(result.rank, 1);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.step, 5);
  EXPECT_EQ(result.activity, Activity::forward);
  EXPECT_THAT(result.last_lines, testing::ElementsAre("something is wrong in step 5"));
  EXPECT_EQ(result.message,
            "Rank 1 ended with exit code 3 in step 5 of 10 (forward). The other rank still ran (rank 0) "
            "and was ended. Its output is in " +
                (folder_ / "run" / "rank-1.log").string() + ".");
  EXPECT_EQ(result.ranks[0].signal, SIGTERM);
  EXPECT_LT(result.wall_ns, 20'000'000'000);  // ended by its exit, not after the grace period
}

TEST_F(Launcher, ASegmentationFaultIsNamed) {
  const LaunchResult result = launch(options({"segfaults", "waits", "waits"}));
  EXPECT_EQ(result.outcome, Outcome::rank_failed);
  EXPECT_EQ(result.rank, 0);
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_THAT(result.message, HasSubstr("Rank 0 was killed by SIGSEGV in step 5 of 10 (forward)."));
  EXPECT_THAT(result.message, HasSubstr("The other ranks still ran (ranks 1 and 2) and were ended."));
}

TEST_F(Launcher, AKilledRankIsSaidWithTheLikelyReason) {
  const LaunchResult result = launch(options({"waits", "is-killed"}));
  EXPECT_EQ(result.rank, 1);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_THAT(result.message, HasSubstr("killed by SIGKILL"));
  EXPECT_THAT(result.message, HasSubstr("run out of memory"));
}

TEST_F(Launcher, AStoppedRankIsFoundAmongThoseThatWaitForIt) {
  const auto begin = steady_clock::now();
  const LaunchResult result = launch(impatient({"waits", "stops", "waits"}));
  EXPECT_EQ(result.outcome, Outcome::hung);
  EXPECT_EQ(result.rank, 1);
  EXPECT_EQ(result.signal, SIGSTOP);
  EXPECT_EQ(result.step, 5);
  EXPECT_THAT(result.message,
              HasSubstr("Rank 1 is stopped (SIGSTOP) in step 5 of 10 (forward); ranks 0 and 2 wait for it "
                        "in step 5 of 10 (backward and all-reduce). No progress for 2 s."));
  // SIGTERM reached it although it was stopped, so the grace period of 20 s was not used up.
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_GE(result.wall_ns, 2'000'000'000);
}

TEST_F(Launcher, AHungRankIsTheOneBehind) {
  const LaunchResult result = launch(impatient({"waits", "waits", "hangs-in-forward"}));
  EXPECT_EQ(result.outcome, Outcome::hung);
  EXPECT_EQ(result.rank, 2);
  EXPECT_EQ(result.activity, Activity::forward);
  EXPECT_THAT(result.message, HasSubstr("Rank 2 hangs in step 5 of 10 (forward); ranks 0 and 1 wait for it"));
}

TEST_F(Launcher, WhenAllWaitNobodyIsAccusedAlone) {
  const LaunchResult result = launch(impatient({"waits", "waits"}));
  EXPECT_EQ(result.outcome, Outcome::hung);
  EXPECT_THAT(result.message, HasSubstr("All ranks hang in step 5 of 10 (backward and all-reduce)"));
}

TEST_F(Launcher, StartingHasATimeoutOfItsOwn) {
  LaunchOptions slow = options({"stuck-in-rendezvous", "never-reports"});
  slow.timeout_s = 0.1;
  slow.start_timeout_s = 3;
  const LaunchResult result = launch(slow);
  EXPECT_EQ(result.outcome, Outcome::hung);
  EXPECT_EQ(result.rank, 1);  // a rank without any report is behind a rank that waits in the rendezvous
  EXPECT_GE(result.wall_ns, 3'000'000'000);
  EXPECT_THAT(result.message, HasSubstr("Rank 1 hangs in its time before the first step (starting)"));
  EXPECT_THAT(result.message,
              HasSubstr("Raise the timeout (measure.timeout_s) above 3 if a start may take that long."));
}

// Otherwise a user who raises the timeout, as the message advises, would get the same message again.
TEST_F(Launcher, AStartMayTakeAsLongAsAStep) {
  LaunchOptions slow = options({"stuck-in-rendezvous", "never-reports"});
  slow.timeout_s = 3;
  slow.start_timeout_s = 0.1;
  const LaunchResult result = launch(slow);
  EXPECT_EQ(result.outcome, Outcome::hung);
  EXPECT_GE(result.wall_ns, 3'000'000'000);
}

TEST_F(Launcher, EndingEarlyWithCodeZeroIsAFailure) {
  const LaunchResult result = launch(options({"waits", "ends-early"}));
  EXPECT_EQ(result.outcome, Outcome::rank_failed);
  EXPECT_EQ(result.rank, 1);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.message,
              HasSubstr("Rank 1 ended early, with exit code 0 before its work was done, in step 5 of 10"));
}

TEST_F(Launcher, ARankThatIgnoresSigtermIsKilledAfterTheGracePeriod) {
  LaunchOptions stubborn = options({"waits-and-ignores-sigterm", "exits-3"});
  stubborn.grace_s = 0.3;
  const LaunchResult result = launch(stubborn);  // rank 1 fails only after rank 0 ignores SIGTERM
  EXPECT_EQ(result.rank, 1);
  EXPECT_EQ(result.ranks[0].signal, SIGKILL);
  EXPECT_GE(result.wall_ns, 300'000'000);
}

TEST_F(Launcher, ADeafRankIsKilledOnInterrupt) {
  LaunchOptions stubborn = options({"waits-and-ignores-sigterm"});
  stubborn.grace_s = 0.3;
  bool deaf = false;
  stubborn.on_progress = [&](const Progress& progress) {
    deaf = progress.ranks[0].status.activity == Activity::backward && progress.ranks[0].status.step == 5;
  };
  stubborn.interrupted = [&] { return deaf; };
  const LaunchResult result = launch(stubborn);
  EXPECT_EQ(result.outcome, Outcome::interrupted);
  EXPECT_EQ(result.ranks[0].signal, SIGKILL);
}

TEST_F(Launcher, ChildrenOfRanksAreKilledToo) {
  const LaunchResult result = launch(impatient({"has-children", "has-children"}));
  EXPECT_EQ(result.outcome, Outcome::hung);
  EXPECT_EQ(pids().size(), 6u);  // the fixture checks that all of them have ended
}

TEST_F(Launcher, WhatAFineRankLeavesBehindIsKilled) {
  const LaunchResult result = launch(options({"leaves-a-child"}));
  EXPECT_EQ(result.outcome, Outcome::ok) << result.message;
}

TEST_F(Launcher, AFloodOfOutputBlocksNobodyAndIsKept) {
  LaunchOptions flood = options({"floods"});
  const LaunchResult result = launch(flood);
  EXPECT_EQ(result.exit_code, 4);
  ASSERT_EQ(result.last_lines.size(), 20u);
  EXPECT_EQ(result.last_lines.front(), "line 199980 of a flood");
  EXPECT_EQ(result.last_lines.back(), "line 199999 of a flood");
  EXPECT_THAT(log(0), testing::StartsWith("line 0 of a flood\n"));
}

TEST_F(Launcher, AnInterruptEndsEveryRank) {
  LaunchOptions patient = options({"waits", "waits"});
  bool training = false;
  patient.on_progress = [&](const Progress& progress) { training = progress.ranks[0].status.step == 5; };
  patient.interrupted = [&] { return training; };
  const LaunchResult result = launch(patient);
  EXPECT_EQ(result.outcome, Outcome::interrupted);
  EXPECT_THAT(result.message, HasSubstr("Interrupted in step 5"));
  for (const RankExit& rank : result.ranks) EXPECT_EQ(rank.signal, SIGTERM);
}

TEST_F(Launcher, AnInterruptionWhileRanksAreStartedStartsNoMore) {
  LaunchOptions many = options({"waits", "waits", "waits", "waits", "waits", "waits"});
  int asked = 0;
  many.interrupted = [&] { return ++asked >= 3; };
  const LaunchResult result = launch(many);
  EXPECT_EQ(result.outcome, Outcome::interrupted);
  EXPECT_EQ(result.ranks.size(), 3u);
}

TEST_F(Launcher, MoreRanksThanTheGuardianWatchesAreRefused) {
  LaunchOptions many = options({});
  many.ranks.resize(4097, RankCommand{.argv = {"/bin/true"}});
  const LaunchResult result = launch(many);
  EXPECT_EQ(result.outcome, Outcome::could_not_start);
  EXPECT_THAT(result.message, HasSubstr("at most 4096 ranks"));
}

TEST_F(Launcher, AMissingProgramIsSaidAndTheOthersAreEnded) {
  LaunchOptions missing = options({"waits", "waits"});
  missing.ranks[1].argv = {"/no/such/program"};
  const LaunchResult result = launch(missing);
  EXPECT_EQ(result.outcome, Outcome::could_not_start);
  EXPECT_EQ(result.rank, 1);
  EXPECT_EQ(result.message, "Rank 1 could not be started: /no/such/program: No such file or directory.");
  ASSERT_EQ(result.ranks.size(), 1u);
  EXPECT_EQ(result.ranks[0].signal, SIGTERM);
}

TEST_F(Launcher, ARunDirectoryThatCannotBeIsSaid) {
  LaunchOptions nowhere = options({"fine"});
  std::ofstream(folder_ / "file") << "x";
  nowhere.run_directory = folder_ / "file" / "run";
  EXPECT_EQ(launch(nowhere).outcome, Outcome::could_not_start);
  EXPECT_EQ(launch(LaunchOptions{}).outcome, Outcome::could_not_start);
}

TEST_F(Launcher, AThrowingCallbackLeavesNobody) {
  LaunchOptions throwing = options({"waits", "has-children"});
  throwing.on_progress = [](const Progress& progress) {
    if (progress.ranks[1].status.step == 5) throw std::runtime_error("full");
  };
  EXPECT_THROW(launch(throwing), std::runtime_error);
  EXPECT_GE(pids().size(), 2u);
}

TEST_F(Launcher, OnlyRankZeroInheritsTheSocketAndNothingElse) {
  // A descriptor without close-on-exec, as some libraries leave it.
  const int careless = open("/dev/null", O_RDONLY);
  ASSERT_GE(careless, 0);
  ListeningSocket listener = open_loopback_listener();
  LaunchOptions ranks = options({"checks-descriptors", "checks-descriptors"});
  ranks.listener = &listener;
  const LaunchResult result = launch(ranks);
  close(careless);
  EXPECT_EQ(result.outcome, Outcome::ok) << result.message << log(0) << log(1);
  EXPECT_EQ(listener.descriptor(), -1);  // closed here: only rank 0 has it open
}

TEST_F(Launcher, RanksStartWithCleanSignalsInTheirOwnGroup) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  const auto handler = signal(SIGINT, SIG_IGN);
  const LaunchResult result = launch(options({"checks-signals"}));
  signal(SIGINT, handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(result.outcome, Outcome::ok) << result.message;
}

// The launcher itself is killed: the kernel ends the ranks, and the guardian ends the processes of the ranks.
TEST_F(Launcher, AKilledLauncherLeavesNobody) {
  const std::string pid_folder = (folder_ / "pids").string();
  const pid_t launcher = fork();
  if (launcher == 0) {
    execl(DDPPROF_TEST_RANK, DDPPROF_TEST_RANK, "launch", pid_folder.c_str(), "has-children",
          "waits-and-ignores-sigterm", nullptr);
    _exit(127);
  }
  ASSERT_GT(launcher, 0);
  ASSERT_TRUE(within(20, [&] { return pids().size() == 4; }));  // two ranks, two children
  kill(launcher, SIGKILL);
  ASSERT_EQ(waitpid(launcher, nullptr, 0), launcher);
  for (const int pid : pids()) EXPECT_TRUE(within(10, [&] { return !alive(pid); })) << "process " << pid << " is left";
}

}  // namespace
}  // namespace ddpprof::launcher
