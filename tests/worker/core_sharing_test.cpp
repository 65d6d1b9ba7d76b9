// The ranks that share a rank's processors, for all kinds of start and binding.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "runner/worker/process_group/core_sharing.hpp"

namespace ddpprof::worker {
namespace {

TEST(CoreSharing, UnboundRanksShareAll) {
  const std::vector<std::string> entries(4, "a 1|0-7");
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(share_of(entries, rank).sharing, 4);
    EXPECT_EQ(share_of(entries, rank).host_cores, 8);
  }
}

// mpirun binds each rank to a core, srun -c 4 to four.
TEST(CoreSharing, RanksBoundApartShareNothing) {
  const std::vector<std::string> entries = {"a 1|0-3", "a 1|4-7", "a 1|8-11"};
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(share_of(entries, rank).sharing, 1);
    EXPECT_EQ(share_of(entries, rank).host_cores, 12);
    EXPECT_EQ(share_of(entries, rank).pool_cores, 4);
  }
  EXPECT_NE(share_of(entries, 0).pool, share_of(entries, 1).pool);
}

// 0 and 2 have no processor in common, but both compete with 1.
TEST(CoreSharing, APoolReachesAsFarAsRanksOverlap) {
  const std::vector<std::string> entries = {"a|0,1", "a|1,2", "a|2,3", "a|4,5"};
  EXPECT_EQ(share_of(entries, 0).sharing, 2);
  EXPECT_EQ(share_of(entries, 0).pool_cores, 4);
  EXPECT_EQ(share_of(entries, 0).pool, share_of(entries, 2).pool);
  EXPECT_NE(share_of(entries, 0).pool, share_of(entries, 3).pool);
  EXPECT_EQ(share_of(entries, 3).pool_cores, 2);
}

// Two pods of one machine: the entry has the machine and, with a quota, the owner of the quota.
TEST(CoreSharing, AQuotaOfItsOwnSharesNothing) {
  const std::vector<std::string> entries = {"boot cgroup:[1]/pod-a|0-7", "boot cgroup:[2]/pod-b|0-7",
                                            "boot cgroup:[1]/pod-a|0-7"};
  EXPECT_EQ(share_of(entries, 0).sharing, 2);
  EXPECT_EQ(share_of(entries, 1).sharing, 1);
  EXPECT_EQ(share_of(entries, 0).pool, share_of(entries, 2).pool);
  EXPECT_NE(share_of(entries, 0).pool, share_of(entries, 1).pool);
}

TEST(CoreSharing, OtherHostsDoNotCount) {
  const std::vector<std::string> entries = {"a 1|0-7", "b 2|0-7", "a 2|0-7",
                                            "a 1|0-7"};  // two machines with the name a
  EXPECT_EQ(share_of(entries, 0).sharing, 2);
  EXPECT_EQ(share_of(entries, 1).sharing, 1);
  EXPECT_EQ(share_of(entries, 2).sharing, 1);
  EXPECT_EQ(share_of(entries, 2).host_cores, 8);
}

TEST(CoreSharing, OverlapAndWhatCannotBeRead) {
  const std::vector<std::string> entries = {"a 1|0-3", "a 1|3,4", "a 1|", "nonsense"};
  EXPECT_EQ(share_of(entries, 0).sharing, 2);
  EXPECT_EQ(share_of(entries, 1).sharing, 2);
  EXPECT_EQ(share_of(entries, 2).sharing, 1);
  EXPECT_EQ(share_of(entries, 3).sharing, 1);
  EXPECT_EQ(share_of(entries, 0).host_cores, 5);
}

TEST(CoreSharing, ThisProcessSaysWhereItMayRun) {
  EXPECT_GE(share_of({core_entry()}, 0).host_cores, 1);
  EXPECT_EQ(share_of({core_entry(), core_entry()}, 1).sharing, 2);
  // Containers may have different host names; the kernel has one id.
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot_id;
  ASSERT_TRUE(std::getline(file, boot_id));
  EXPECT_TRUE(core_entry().starts_with(boot_id));
}

}  // namespace
}  // namespace ddpprof::worker
