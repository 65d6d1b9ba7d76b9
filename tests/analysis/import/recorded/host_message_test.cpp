// The ranges that mark a message of a CPU backend.
#include "analysis/import/recorded/host_message.hpp"

#include <gtest/gtest.h>

namespace ddpprof::import {
namespace {

TEST(HostMessage, BackendOperationAndBytes) {
  const auto given = host_message("gloo:all_reduce", std::int64_t{4096});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->backend, "gloo");
  EXPECT_EQ(given->op, CollectiveOp::all_reduce);
  EXPECT_EQ(given->bytes, 4096);
  EXPECT_EQ(host_message("mpi:broadcast 77", {})->bytes, 77);
  EXPECT_EQ(host_message("mpi:broadcast 77", {})->op, CollectiveOp::broadcast);
  EXPECT_EQ(host_message("ucc:reduce_scatter 5", std::int64_t{6})->bytes, 6) << "the payload has priority";
}

TEST(HostMessage, BytesThatAreNoneAreNotKnown) {
  EXPECT_EQ(host_message("gloo:all_reduce", {})->bytes, 0);
  EXPECT_EQ(host_message("gloo:all_reduce", std::int64_t{-4})->bytes, 0);
  EXPECT_EQ(host_message("gloo:all_reduce", 3.5)->bytes, 0);
  EXPECT_EQ(host_message("gloo:all_reduce", std::string_view("{}"))->bytes, 0);
  EXPECT_EQ(host_message("gloo:all_reduce four", {})->bytes, 0);
  EXPECT_EQ(host_message("gloo:all_reduce 4 KiB", {})->bytes, 0);
  EXPECT_EQ(host_message("gloo:all_reduce 99999999999999999999", {})->bytes, 0);
}

TEST(HostMessage, OtherNamesAreNone) {
  for (const char* name : {"", ":", "gloo", "gloo:", "gloo:rendezvous", "nccl:all_reduce", "all_reduce",
                           "my gloo:all_reduce", "Gloo:all_reduce"})
    EXPECT_FALSE(host_message(name, std::int64_t{8})) << name;
}

}  // namespace
}  // namespace ddpprof::import
