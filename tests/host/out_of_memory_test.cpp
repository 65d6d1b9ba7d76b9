// Each case writes a root folder with the files of one of the two cgroup versions.
#include "runner/host/out_of_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ddpprof::host {
namespace {

class OutOfMemory : public testing::Test {
 protected:
  OutOfMemory()
      : root_(std::filesystem::path(testing::TempDir()) / ("ddpprof-oom-" + std::to_string(getpid()))), host_(root_) {}
  ~OutOfMemory() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  std::filesystem::path root_;
  Host host_;
};

TEST_F(OutOfMemory, SaysNothingWhereNothingIsCounted) {
  const OutOfMemoryKills none = read_out_of_memory_kills(host_);
  EXPECT_FALSE(none.group);
  EXPECT_FALSE(none.machine);
  EXPECT_EQ(describe_kills(none, none), "");
}

TEST_F(OutOfMemory, ReadsTheUnifiedGroup) {
  write("proc/self/cgroup", "0::/job\n");
  write("proc/vmstat", "nr_free_pages 7\noom_kill 4\n");
  const std::string events = "sys/fs/cgroup/job/memory.events";
  write(events, "low 0\nhigh 9\nmax 5\noom 2\noom_kill 1\noom_group_kill 0\n");
  const OutOfMemoryKills before = read_out_of_memory_kills(host_);
  EXPECT_EQ(before.group, 1);
  EXPECT_EQ(before.machine, 4);
  EXPECT_EQ(describe_kills(before, before), "");
  write(events, "low 0\nhigh 9\nmax 5\noom 3\noom_kill 2\noom_group_kill 0\n");
  EXPECT_TRUE(
      describe_kills(before, read_out_of_memory_kills(host_))
          .starts_with("The kernel's out-of-memory killer ended it (memory.events: oom_kill went from 1 to 2)"));
}

TEST_F(OutOfMemory, ReadsTheOlderGroup) {
  write("proc/self/cgroup", "4:memory:/jobs/17\n0::/\n");
  write("sys/fs/cgroup/memory/jobs/17/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  const OutOfMemoryKills kills = read_out_of_memory_kills(host_);
  EXPECT_EQ(kills.group, 3);
  EXPECT_EQ(kills.group_file, "memory.oom_control");
}

// The victim may have been a process of another group; then the sentence differs.
TEST_F(OutOfMemory, AKillElsewhereIsNoProof) {
  write("proc/self/cgroup", "0::/job\n");
  write("sys/fs/cgroup/job/memory.events", "oom_kill 0\n");
  write("proc/vmstat", "oom_kill 4\n");
  const OutOfMemoryKills before = read_out_of_memory_kills(host_);
  write("proc/vmstat", "oom_kill 5\n");
  EXPECT_TRUE(
      describe_kills(before, read_out_of_memory_kills(host_))
          .starts_with(
              "The kernel's out-of-memory killer ended a process on this machine during this time (/proc/vmstat: "
              "oom_kill went from 4 to 5)"));
}

}  // namespace
}  // namespace ddpprof::host
