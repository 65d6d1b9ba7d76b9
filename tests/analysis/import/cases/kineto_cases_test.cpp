// Traces that were read wrongly. The right answers were computed by hand from the files' intervals
// (shared/data/cases/README.md). Each test reads the copy in data/ and, if DDPPROF_DATA_DIR has it, the shared file.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/analysis/import/cases/measured_steps.hpp"

namespace ddpprof::import {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

class kineto_cases : public testing::TestWithParam<bool> {
 protected:
  // Returns none if the shared file is missing.
  std::optional<Case> read(const std::string& name) const {
    fs::path folder = fs::path(CASES_FOLDER) / name;
    if (GetParam()) {
      const char* data = std::getenv("DDPPROF_DATA_DIR");
      if (!data) return std::nullopt;
      folder = fs::path(data) / "cases" / name;
    }
    if (!fs::exists(folder)) return std::nullopt;
    return import_case(expand_inputs({folder.string()}));
  }
};

#define READ(name)                                                    \
  const std::optional<Case> found = read(name);                       \
  if (!found) GTEST_SKIP() << "DDPPROF_DATA_DIR does not hold " name; \
  const Case& read_case = *found

TEST_P(kineto_cases, BlockingAllReducesHideNothing) {
  READ("kineto_blocking_gloo_all_reduces_after_backward");
  ASSERT_EQ(read_case.imported.error, "");
  ASSERT_FALSE(read_case.steps.empty());
  for (const MeasuredStep& step : read_case.steps) {
    EXPECT_EQ(step.duration_ns, 10'950'000);
    EXPECT_EQ(step.communication_ns, 6'000'000);
    EXPECT_EQ(step.overlapped_ns, 0);
    EXPECT_EQ(step.exposed_ns, 6'000'000);
  }
}

TEST_P(kineto_cases, IndentedJsonHasTheSameShapes) {
  READ("kineto_pretty_printed_loses_shapes");
  ASSERT_EQ(read_case.imported.error, "");
  EXPECT_EQ(read_case.batch, 32);
  EXPECT_EQ(read_case.parameter_bytes, 4 * 1024 * 1024 * 4);  // four gradients of [1024, 1024] floats
  EXPECT_FALSE(read_case.told("bad_event"));
  EXPECT_FALSE(read_case.told("batch_unknown"));
}

TEST_P(kineto_cases, WorldSizeOfTheCollectives) {
  READ("kineto_world_size_only_in_collectives");
  ASSERT_EQ(read_case.imported.error, "");
  EXPECT_EQ(read_case.imported.result.world_size, 8);
  EXPECT_TRUE(read_case.told("rank_unknown"));
  EXPECT_TRUE(read_case.told("identity_by_collectives"));
}

TEST_P(kineto_cases, GpuJobWithoutKernels) {
  READ("kineto_gpu_job_without_kernels");
  ASSERT_EQ(read_case.imported.error, "");
  EXPECT_EQ(read_case.device, "cuda");
  EXPECT_EQ(read_case.strategy, "other");
  EXPECT_THAT(read_case.message("device_not_recorded"), HasSubstr("A100"));
  EXPECT_THAT(read_case.message("device_not_recorded"), HasSubstr("cudaLaunchKernel"));
}

TEST_P(kineto_cases, TwoCyclesAreOneRank) {
  READ("kineto_two_cycles_of_one_process");
  ASSERT_EQ(read_case.imported.error, "");
  EXPECT_EQ(read_case.imported.result.ranks, 1);
  EXPECT_EQ(read_case.imported.result.world_size, 1);
  EXPECT_EQ(read_case.imported.rows.at("shard"), 1);
  EXPECT_EQ(read_case.steps.size(), 6U);
  // A step of the device: from the end of one step's work to the end of the next.
  std::vector<std::int64_t> durations;
  for (const MeasuredStep& step : read_case.steps) durations.push_back(step.duration_ns);
  std::nth_element(durations.begin(), durations.begin() + 3, durations.end());
  EXPECT_NEAR(static_cast<double>(durations[3]), 3.55e6, 0.02e6);
  EXPECT_TRUE(read_case.told("cycles_joined"));
  EXPECT_FALSE(read_case.told("rank_by_order"));
}

TEST_P(kineto_cases, AllToAllsOfOldTorchAreNotDdp) {
  READ("kineto_old_torch_all_to_alls_taken_for_ddp");
  ASSERT_EQ(read_case.imported.error, "");
  EXPECT_EQ(read_case.strategy, "other");
  EXPECT_THAT(read_case.message("not_data_parallel"), HasSubstr("12 all-to-alls"));
}

TEST_P(kineto_cases, DeepEpExchangesExperts) {
  READ("kineto_expert_parallel_with_deep_ep_kernels");
  ASSERT_EQ(read_case.imported.error, "");
  EXPECT_EQ(read_case.strategy, "other");
  EXPECT_THAT(read_case.message("not_data_parallel"), HasSubstr("all-to-all"));
  ASSERT_FALSE(read_case.steps.empty());
  for (const MeasuredStep& step : read_case.steps) EXPECT_EQ(step.communication_ns, 1'400'000);
}

TEST_P(kineto_cases, KernelsOfOneCcl) {
  READ("kineto_collective_kernels_of_other_names_oneccl");
  ASSERT_EQ(read_case.imported.error, "");
  EXPECT_EQ(read_case.strategy, "ddp");
  ASSERT_FALSE(read_case.steps.empty());
  for (const MeasuredStep& step : read_case.steps) {
    EXPECT_EQ(step.communication_ns, 1'500'000);
    EXPECT_EQ(step.overlapped_ns, 750'000);
    EXPECT_EQ(step.exposed_ns, 750'000);
  }
}

TEST_P(kineto_cases, KernelsAtTimeZeroAreLeftOut) {
  READ("kineto_kernels_at_time_zero");
  ASSERT_EQ(read_case.imported.error, "");
  EXPECT_EQ(read_case.imported.counts().at("device_events_misplaced"), 10);  // 5 of each rank
  for (const auto& [rank, windows] : read_case.imported.totals)
    EXPECT_LT(windows.at("all").span_ns, 20'000'000) << "rank " << rank;
  EXPECT_LT(read_case.wall_ns, 20'000'000);
}

TEST_P(kineto_cases, TwoRanksInOneFileAreRefused) {
  READ("kineto_two_ranks_merged_into_one_file");
  EXPECT_THAT(read_case.imported.error, HasSubstr("it has several ranks"));
  EXPECT_THAT(read_case.imported.error, HasSubstr("100 and 101"));
}

TEST_P(kineto_cases, DevicesOfAscendAreNotRead) {
  READ("kineto_ascend_trace_view_devices_not_read");
  ASSERT_EQ(read_case.imported.error, "");
  EXPECT_THAT(read_case.message("device_not_recorded"), HasSubstr("Ascend Hardware"));
  EXPECT_EQ(read_case.imported.result.world_size, 8);
  EXPECT_EQ(read_case.device, "cuda");
}

INSTANTIATE_TEST_SUITE_P(cases, kineto_cases, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& tested) { return tested.param ? "shared" : "copied"; });

}  // namespace
}  // namespace ddpprof::import
