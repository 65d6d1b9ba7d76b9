// Ends of a bounded command, with real processes.
#include "runner/launcher/bounded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <sstream>
#include <system_error>
#include <thread>

namespace ddpprof::launcher {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Reason = BoundedEnd::Reason;
using testing::HasSubstr;

class Bounded : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "ddpprof-bounded-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  BoundedCommand shell(const std::string& script) const {
    BoundedCommand command;
    command.argv = {"sh", "-c", script};
    command.environment = {{"FOLDER", folder_.string()}};
    command.log = folder_ / "log";
    command.limit = 30s;
    command.grace = 10s;
    return command;
  }
  std::string text(const char* name) const {
    std::ifstream file(folder_ / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  bool exists(const char* name) const { return fs::exists(folder_ / name); }
  // Returns true if the process whose id the file has does not run.
  bool gone(const char* name) const {
    const pid_t pid = std::stoi(text(name));
    return kill(pid, 0) != 0 && errno == ESRCH;
  }

  fs::path folder_;
};

TEST_F(Bounded, ACommandMayEndByItself) {
  const BoundedEnd end = run_bounded(shell("echo to out; echo to err >&2; read line || exit 3"));
  EXPECT_EQ(end.reason, Reason::by_itself);
  EXPECT_EQ(end.exit_code, 3) << "standard input is empty";
  EXPECT_FALSE(end.killed);
  EXPECT_THAT(text("log"), HasSubstr("to out\nto err\n"));
}

TEST_F(Bounded, EnoughEndsItWithSigterm) {
  BoundedCommand command =
      shell("trap 'echo ended > $FOLDER/ended; exit 5' TERM; touch $FOLDER/done; while :; do sleep 0.05; done");
  command.enough = [&] { return exists("done"); };
  const BoundedEnd end = run_bounded(command);
  EXPECT_EQ(end.reason, Reason::enough);
  EXPECT_EQ(end.exit_code, 5);
  EXPECT_FALSE(end.killed);
  EXPECT_EQ(text("ended"), "ended\n");
}

// A shell ends at once on SIGTERM. The launcher that it started gets the time to end its ranks.
TEST_F(Bounded, WhatAShellStartedHasTheGraceTimeToo) {
  BoundedCommand command = shell(
      "sh -c 'trap \"sleep 1; echo ended > $FOLDER/ended; exit\" TERM; touch $FOLDER/done; "
      "while :; do sleep 0.05; done' & wait");
  command.enough = [&] { return exists("done"); };
  const BoundedEnd end = run_bounded(command);
  EXPECT_EQ(end.reason, Reason::enough);
  EXPECT_FALSE(end.killed);
  EXPECT_EQ(text("ended"), "ended\n");
}

TEST_F(Bounded, AfterEnoughItMayEndByItself) {
  BoundedCommand command = shell("trap 'exit 5' TERM; touch $FOLDER/done; sleep 0.5; exit 0");
  command.enough = [&] { return exists("done"); };
  const BoundedEnd end = run_bounded(command);
  EXPECT_EQ(end.reason, Reason::enough);
  EXPECT_EQ(end.exit_code, 0);
}

// Its child has a session of its own, which the kernel does not end with the shell.
TEST_F(Bounded, IfThisProcessIsKilledTheCommandsProcessesAreKilled) {
  const BoundedCommand command =
      shell("setsid sh -c 'echo $$ > $FOLDER/child; while :; do sleep 0.05; done' & while :; do sleep 0.05; done");
  const pid_t launcher = fork();
  if (launcher == 0) {
    run_bounded(command);
    _exit(0);
  }
  const auto until = [](const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(50ms);
    return condition();
  };
  EXPECT_TRUE(until([&] { return exists("child") && !text("child").empty(); }));
  std::this_thread::sleep_for(2500ms);  // the guardian is told of new groups once a second
  EXPECT_FALSE(gone("child"));
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  EXPECT_TRUE(until([&] { return gone("child"); }));
}

// Like torchrun's workers: a session of its own, which SIGTERM to the group does not reach.
TEST_F(Bounded, WhatDoesNotEndIsKilledWithAllItsProcesses) {
  BoundedCommand command = shell(
      "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > $FOLDER/child; while :; do sleep 0.05; done' & "
      "(sleep 1000 & echo $! > $FOLDER/orphan); touch $FOLDER/done; while :; do sleep 0.05; done");
  command.enough = [&] { return exists("done") && exists("child"); };
  command.grace = 500ms;
  const BoundedEnd end = run_bounded(command);
  EXPECT_EQ(end.reason, Reason::enough);
  EXPECT_TRUE(end.killed);
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_TRUE(gone("child"));
  EXPECT_TRUE(gone("orphan"));
}

TEST_F(Bounded, WhatACommandLeavesBehindIsEnded) {
  const BoundedEnd end = run_bounded(shell("setsid sleep 1000 & echo $! > $FOLDER/left; exit 0"));
  EXPECT_EQ(end.reason, Reason::by_itself);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_TRUE(end.killed);
  EXPECT_TRUE(gone("left"));
}

TEST_F(Bounded, TheLimitAndTheUserEndIt) {
  BoundedCommand command = shell("sleep 1000");
  command.limit = 300ms;
  BoundedEnd end = run_bounded(command);
  EXPECT_EQ(end.reason, Reason::limit);
  EXPECT_EQ(end.signal, SIGTERM);
  EXPECT_LT(end.took, 10s);
  command.limit = 30s;
  command.interrupted = [] { return true; };
  end = run_bounded(command);
  EXPECT_EQ(end.reason, Reason::interrupted);
  EXPECT_LT(end.took, 10s);
}

TEST_F(Bounded, OtherChildrenOfThisProcessStay) {
  const pid_t other = fork();
  if (other == 0) {
    for (;;) pause();
  }
  run_bounded(shell("exit 0"));
  EXPECT_EQ(kill(other, 0), 0);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

TEST_F(Bounded, ACommandThatIsMissingIsAnError) {
  BoundedCommand command = shell("");
  command.argv = {"no-such-command-of-anyone"};
  EXPECT_THROW(run_bounded(command), std::system_error);
}

}  // namespace
}  // namespace ddpprof::launcher
