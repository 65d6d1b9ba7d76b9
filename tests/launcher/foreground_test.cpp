// A command that is run in the foreground behaves as if nobody stood before it.
#include "runner/launcher/foreground.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace ddpprof::launcher {
namespace {

namespace fs = std::filesystem;

ForegroundEnd shell(const std::string& script, const std::map<std::string, std::string>& environment = {}) {
  return run_foreground({"sh", "-c", script}, environment);
}

class Foreground : public testing::Test {
 protected:
  void SetUp() override { path_ = fs::temp_directory_path() / ("ddpprof_foreground_" + std::to_string(getpid())); }
  void TearDown() override { fs::remove(path_); }
  std::string written() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  fs::path path_;
};

TEST_F(Foreground, ItsCodeIsGivenOn) {
  EXPECT_EQ(shell("exit 0").shell_code(), 0);
  EXPECT_EQ(shell("exit 7").shell_code(), 7);
  EXPECT_EQ(shell("exit 7").exit_code, 7);
  const ForegroundEnd killed = shell("kill -SEGV $$");
  EXPECT_EQ(killed.signal, SIGSEGV);
  EXPECT_EQ(killed.shell_code(), 128 + SIGSEGV);
}

TEST_F(Foreground, WhatCannotBeStartedIsToldAsAShellTellsIt) {
  const ForegroundEnd missing = run_foreground({"no-such-command-of-anyone"}, {});
  EXPECT_EQ(missing.start_error, ENOENT);
  EXPECT_EQ(missing.shell_code(), 127);
  std::ofstream(path_) << "text";
  fs::permissions(path_, fs::perms::owner_read);
  EXPECT_EQ(run_foreground({path_.string()}, {}).shell_code(), 126);
  EXPECT_EQ(run_foreground({}, {}).shell_code(), 127);
}

TEST_F(Foreground, TheEnvironmentIsAddedToOurs) {
  shell("echo \"$DDPPROF_TEST_WORD $HOME\" > " + path_.string(), {{"DDPPROF_TEST_WORD", "said"}});
  EXPECT_EQ(written(), "said " + std::string(getenv("HOME")) + "\n");
}

TEST_F(Foreground, SignalsSentToUsReachIt) {
  // The command sends them to whoever started it: this process.
  const ForegroundEnd end = shell(
      "trap 'echo usr1 >> " + path_.string() + "' USR1; trap 'echo term >> " + path_.string() +
      "; exit 9' TERM; kill -USR1 $PPID; i=0; while [ ! -s " + path_.string() +
      " ] && [ $i -lt 100 ]; do sleep 0.05; i=$((i+1)); done; kill -TERM $PPID; i=0; while [ $i -lt 100 ]; do sleep "
      "0.05; i=$((i+1)); done; exit 1");
  EXPECT_EQ(end.exit_code, 9);
  EXPECT_EQ(written(), "usr1\nterm\n");
}

TEST_F(Foreground, ASignalThatItDoesNotHandleEndsItAndNotUs) {
  const ForegroundEnd end = shell("kill -TERM $PPID; i=0; while [ $i -lt 100 ]; do sleep 0.05; i=$((i+1)); done");
  EXPECT_EQ(end.signal, SIGTERM);
}

TEST_F(Foreground, OurSignalsAreAsTheyWereBefore) {
  struct sigaction before {
  }, after{};
  sigset_t mask_before, mask_after;
  signal(SIGCHLD, SIG_IGN);
  sigaction(SIGCHLD, nullptr, &before);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
  EXPECT_EQ(shell("exit 3").exit_code, 3) << "although children's ends were ignored here";
  sigaction(SIGCHLD, nullptr, &after);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  for (const int one : {SIGTERM, SIGINT, SIGCHLD, SIGUSR1})
    EXPECT_EQ(sigismember(&mask_after, one), sigismember(&mask_before, one)) << one;
  signal(SIGCHLD, SIG_DFL);
}

TEST_F(Foreground, WhatItLeavesBehindIsNotWaitedFor) {
  const ForegroundEnd end = shell("(sleep 20; rm -f " + path_.string() + ") >/dev/null 2>&1 & exit 4");
  EXPECT_EQ(end.exit_code, 4);
}

}  // namespace
}  // namespace ddpprof::launcher
