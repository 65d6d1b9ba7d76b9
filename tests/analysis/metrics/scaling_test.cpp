// Which batch the measured scaling is of.
#include "analysis/metrics/scaling.hpp"

#include <gtest/gtest.h>

namespace ddpprof::metrics {
namespace {

Configuration measured_at(std::int64_t workers, std::int64_t batch, std::int64_t measurement) {
  Configuration one;
  one.strategy = "ddp";
  one.world_size = workers;
  one.batch_per_worker = batch;
  one.accumulation = 1;
  one.measurements = {measurement};
  one.measured.emplace_back();
  return one;
}

std::vector<std::int64_t> batches_of(const std::vector<Configuration>& all) {
  std::vector<std::int64_t> batches;
  for (const Configuration* one : scaling_configurations(all)) batches.push_back(one->batch_per_worker);
  return batches;
}

TEST(ScalingConfigurations, AreOfTheBatchOfMostWorkerCounts) {
  EXPECT_EQ(batches_of({measured_at(1, 16, 1), measured_at(1, 64, 2), measured_at(2, 64, 3)}),
            (std::vector<std::int64_t>{64, 64}));
}

// Like the fits, whose predictions stand beside: measure.batches measures the workload's own batch first.
TEST(ScalingConfigurations, OfEquallyManyWorkerCountsAreOfTheBatchMeasuredFirst) {
  EXPECT_EQ(batches_of({measured_at(1, 64, 3), measured_at(1, 16, 1), measured_at(2, 64, 4), measured_at(2, 16, 2)}),
            (std::vector<std::int64_t>{16, 16}));
}

}  // namespace
}  // namespace ddpprof::metrics
