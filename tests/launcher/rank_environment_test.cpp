#include "runner/launcher/rank_environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace ddpprof::launcher {
namespace {

TEST(Environment, IsTorchrunsOnOneHost) {
  const std::map<std::string, std::string> expected = {
      {"RANK", "2"},
      {"WORLD_SIZE", "4"},
      {"LOCAL_RANK", "2"},
      {"LOCAL_WORLD_SIZE", "4"},
      {"MASTER_PORT", "29500"},
      {"MASTER_ADDR", "127.0.0.1"},
      {"OMP_NUM_THREADS", "3"},
  };
  EXPECT_EQ(rank_environment({.rank = 2, .world_size = 4, .master_port = 29500, .threads = 3}), expected);
}

TEST(Environment, NamesTheTracerWhenThereIsOne) {
  const auto variables =
      rank_environment({.threads = 0, .tracer_library = "/lib/tracer.so", .trace_directory = "/run/x"});
  EXPECT_EQ(variables.at("NVTX_INJECTION64_PATH"), "/lib/tracer.so");
  EXPECT_EQ(variables.at("CUDA_INJECTION64_PATH"), "/lib/tracer.so");
  EXPECT_EQ(variables.at("DDPPROF_TRACE_DIR"), "/run/x");
  EXPECT_EQ(variables.at("NCCL_PROFILER_PLUGIN"), "/lib/tracer.so");
  EXPECT_FALSE(variables.contains("OMP_NUM_THREADS"));
}

TEST(Environment, LeavesTheUsersPluginOfNcclInItsPlace) {
  for (const char* others : {"libother.so", "none"}) {
    setenv("NCCL_PROFILER_PLUGIN", others, 1);
    EXPECT_FALSE(tracer_environment("/lib/tracer.so", "/run/x").contains("NCCL_PROFILER_PLUGIN"));
    EXPECT_EQ(other_nccl_plugin("/lib/tracer.so"), others);
  }
  for (const char* ours : {"/lib/tracer.so", ""}) {
    setenv("NCCL_PROFILER_PLUGIN", ours, 1);
    EXPECT_EQ(tracer_environment("/lib/tracer.so", "/run/x").at("NCCL_PROFILER_PLUGIN"), "/lib/tracer.so");
    EXPECT_FALSE(other_nccl_plugin("/lib/tracer.so"));
  }
  unsetenv("NCCL_PROFILER_PLUGIN");
}

}  // namespace
}  // namespace ddpprof::launcher
