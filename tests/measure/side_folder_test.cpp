// The lock of the folder beside a database, and what its end leaves on the disk.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runner/measure/error.hpp"
#include "runner/measure/side_folder.hpp"

namespace ddpprof::measure {
namespace {

namespace fs = std::filesystem;

class SideFolderTest : public testing::Test {
 protected:
  SideFolderTest() {
    char name[] = "/tmp/ddpprof-side-folder-XXXXXX";
    place_ = mkdtemp(name);
    path_ = side_folder(place_ / "run.db");
  }
  ~SideFolderTest() override {
    std::error_code ignored;
    fs::remove_all(place_, ignored);
  }

  fs::path place_, path_;
};

TEST_F(SideFolderTest, WhatWasMadeIsUndoneUnlessItIsKept) {
  { SideFolder(path_).make(); }
  EXPECT_FALSE(fs::exists(path_));
  fs::create_directory(path_);  // left by a run that was killed while it made the folder
  { SideFolder(path_).make(); }
  EXPECT_TRUE(fs::exists(path_));
  EXPECT_TRUE(fs::is_empty(path_));
  {
    SideFolder folder(path_);
    folder.make();
    EXPECT_TRUE(folder.empty());
    folder.keep();
    std::ofstream(path_ / "log") << "a rank's log";
    EXPECT_FALSE(folder.empty());
  }
  { SideFolder(path_).make(); }
  EXPECT_TRUE(fs::exists(path_ / "log")) << "it was there before";
  {
    SideFolder folder(path_);
    folder.make();
    folder.remove_at_end();
    const SideFolder moved(std::move(folder));
    EXPECT_TRUE(fs::exists(path_ / "log"));
  }
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(SideFolderTest, WhoeverHoldsItIsNamed) {
  int ready[2], end[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(end), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    close(end[1]);
    SideFolder folder(path_);
    folder.make();
    char byte = 0;
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    [[maybe_unused]] const ssize_t got = read(end[0], &byte, 1);
    _exit(0);
  }
  char byte = 0;
  close(ready[1]);
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  try {
    SideFolder folder(path_);
    ADD_FAILURE() << "was taken twice";
  } catch (const InvalidRequest& failure) {
    EXPECT_THAT(failure.text(), testing::HasSubstr("another run or import uses " + path_.string() + " (process " +
                                                   std::to_string(holder) + ")"));
  }
  EXPECT_TRUE(fs::exists(path_ / "made-by-ddpprof"));
  for (const int one : {ready[0], end[0], end[1]}) close(one);
  ASSERT_EQ(waitpid(holder, nullptr, 0), holder);
  EXPECT_NO_THROW(SideFolder(path_).make()) << "the lock ended with the process";
}

// A process that has opened the marker of a folder that is being removed must not mistake its lock for the folder's.
TEST_F(SideFolderTest, NeverHasTwoHoldersWhileItComesAndGoes) {
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    for (int turn = 0; turn < 2000; ++turn) {
      try {
        SideFolder folder(path_);
        folder.make();
        folder.remove_at_end();
        const int own = open((place_ / "held").c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (own < 0) _exit(1);
        close(own);
        unlink((place_ / "held").c_str());
      } catch (const UserError& failure) {
        if (failure.text().find("another run or import uses") != std::string::npos) continue;
        std::fprintf(stderr, "%s\n", failure.text().c_str());
        _exit(2);
      }
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace ddpprof::measure
