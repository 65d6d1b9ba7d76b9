// A command in the foreground behaves as if it had been started directly.
#include "runner/launcher/foreground.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
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

// If the signal helper kept its own reading end open, it would never detect that this process has ended.
TEST_F(Foreground, TheWitnessReadsFromNoPipeOfOurs) {
  std::string ours;  // descriptors that every process of this test has, for example standard input
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    ours += fs::read_symlink(entry.path(), gone).string() + " ";
  }
  const ForegroundEnd end = shell(
      "look() { for p in $(cat /proc/$PPID/task/*/children); do [ $p = $$ ] || ls -l /proc/$p/fd; done "
      "| sed -n 's/^lr-x.* \\(pipe:.*\\)$/\\1/p' | while read -r one; do case \"$OURS\" in *\"$one \"*) ;; "
      "*) echo \"$one\";; esac; done; }; "
      "i=0; while [ -n \"$(look)\" ] && [ $i -lt 100 ]; do sleep 0.05; i=$((i+1)); done; "
      "for p in $(cat /proc/$PPID/task/*/children); do [ $p = $$ ] || echo there; done > " +
          path_.string() + "; look >> " + path_.string(),
      {{"OURS", ours}});
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(written(), "there\n");
}

// Sends signals to this process from outside of its group (as another shell does) or from inside of it.
std::string send(const char* signal, const char* who) {
  return std::string(who) + " sh -c 'kill -" + signal + " " + std::to_string(getpid()) + "'; ";
}
constexpr const char* outside = "setsid";
constexpr const char* inside = "env";

// Waits until the file has `lines` lines, at most 5 s.
std::string until(const fs::path& path, int lines) {
  return "i=0; while [ \"$(cat " + path.string() + " 2>/dev/null | wc -l)\" -lt " + std::to_string(lines) +
         " ] && [ $i -lt 100 ]; do sleep 0.05; i=$((i+1)); done; ";
}

TEST_F(Foreground, SignalsSentToUsReachIt) {
  const std::string note = path_.string();
  const ForegroundEnd end =
      shell("trap 'echo usr1 >> " + note + "' USR1; trap 'echo term >> " + note + "; exit 9' TERM; " +
            send("USR1", outside) + until(path_, 1) + send("TERM", outside) + until(path_, 2) + "exit 1");
  EXPECT_EQ(end.exit_code, 9);
  EXPECT_EQ(written(), "usr1\nterm\n");
}

// timeout(1) and similar programs signal the whole group, so the command has already received the signal. The test uses
// its own group, because the process that started the tests is in this one.
TEST_F(Foreground, SignalsToTheGroupReachItOnce) {
  const pid_t alone = fork();
  if (alone == 0) {
    setpgid(0, 0);
    const std::string note = path_.string();
    _exit(shell("trap 'echo usr1 >> " + note + "' USR1; trap 'echo usr2 >> " + note +
                "' USR2; kill -USR1 0; sleep 0.5; " + until(path_, 1) + send("USR2", inside) + until(path_, 2) +
                "sleep 0.5; exit 5")
              .shell_code());
  }
  int status = 0;
  waitpid(alone, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_EQ(written(), "usr1\nusr2\n") << "what one of the group sends to us alone is passed on";
}

// While this process cannot run, the kernel merges equal signals and delivers them by number, not by time.
TEST_F(Foreground, SignalsToTheGroupReachItOnceInWhateverOrderWeAreTold) {
  const pid_t alone = fork();
  if (alone == 0) {
    setpgid(0, 0);
    const std::string note = path_.string(), us = std::to_string(getpid());
    _exit(shell("trap 'echo usr1 >> " + note + "' USR1; trap 'echo usr2 >> " + note + "' USR2; kill -STOP " + us +
                "; kill -USR2 0; " + until(path_, 1) + "kill -USR1 0; " + until(path_, 2) + "kill -USR1 0; " +
                until(path_, 3) + "kill -CONT " + us + "; sleep 1.5; " + send("USR1", inside) + until(path_, 4) +
                "sleep 0.5; exit 5")
              .shell_code());
  }
  int status = 0;
  waitpid(alone, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_EQ(written(), "usr2\nusr1\nusr1\nusr1\n") << "each once, and the last, sent to us alone, passed on";
}

TEST_F(Foreground, ASignalThatItDoesNotHandleEndsItAndNotUs) {
  const ForegroundEnd end = shell(send("TERM", outside) + until(path_, 1));
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
  const auto begin = std::chrono::steady_clock::now();
  const ForegroundEnd end = shell("sleep 30 >/dev/null 2>&1 & echo $! > " + path_.string() + "; exit 4");
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  const int left = std::stoi(written());
  EXPECT_EQ(kill(left, SIGTERM), 0) << "it went on";
}

}  // namespace
}  // namespace ddpprof::launcher
