#include "analysis/fit/workload_key.hpp"

#include <gtest/gtest.h>

namespace ddpprof::fit {
namespace {

const WorkloadKey small{"cnn", 32, 1, "fp32", "cpu"};
const WorkloadKey large{"cnn", 64, 1, "fp32", "cpu"};

TEST(WorkloadKey, TextNamesEveryPart) {
  EXPECT_EQ(small.text(), "cnn, batch 32 per worker, fp32, cpu");
  EXPECT_EQ((WorkloadKey{"cnn", 32, 4, "bf16", "cuda"}.text()), "cnn, batch 32 per worker × 4, bf16, cuda");
}

TEST(WorkloadKey, WithoutBatchIsEqualForWorkloadsThatDifferInTheBatch) {
  EXPECT_NE(small, large);
  EXPECT_EQ(small.without_batch(), large.without_batch());
  EXPECT_NE(small.without_batch(), (WorkloadKey{"cnn", 32, 2, "fp32", "cpu"}.without_batch()));
}

TEST(MostMeasuredWorkload, CountsPairsOfStrategyAndWorkers) {
  EXPECT_EQ(most_measured_workload({}), std::nullopt);
  // Repeats of one N count once.
  EXPECT_EQ(most_measured_workload({{small, "ddp", 1, 1},
                                    {small, "ddp", 1, 2},
                                    {small, "ddp", 1, 3},
                                    {large, "ddp", 1, 4},
                                    {large, "dp", 1, 5}}),
            large);
}

TEST(MostMeasuredWorkload, TiesGoToTheSmallestMeasurementId) {
  EXPECT_EQ(most_measured_workload({{large, "ddp", 1, 7}, {small, "ddp", 1, 3}}), small);
  EXPECT_EQ(most_measured_workload({{large, "ddp", 1, 2}, {small, "ddp", 1, 3}}), large);
}

}  // namespace
}  // namespace ddpprof::fit
