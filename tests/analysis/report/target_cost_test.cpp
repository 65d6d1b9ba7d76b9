// Time and cost of the same result at each N, with values worked out by hand.
#include "analysis/report/tables/learning_rate/target_cost.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace ddpprof::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// Base batch 100, 10 epochs of 1000 samples: 100 steps at the base batch.
fit::LearningRateOptions options_of() {
  fit::LearningRateOptions options;
  options.workers = {1, 4};
  options.base_workers = 1;
  options.samples_per_worker = 100;
  options.samples = 1000;
  options.epochs = 10;
  return options;
}

TrainingTime at(std::int64_t workers, double step_s) {
  TrainingTime time;
  time.strategy = "ddp";
  time.workers = workers;
  time.step_s = step_s;
  time.step_low_s = 0.9 * step_s;
  time.step_high_s = 1.1 * step_s;
  time.throughput = 1.0;
  time.confidence = 0.9;
  return time;
}

double value(const Table& table, std::size_t row, const std::string& name) {
  const auto column = std::ranges::find(table.columns, name, &Column::name);
  return std::get<double>(table.rows.at(row).at(static_cast<std::size_t>(column - table.columns.begin())));
}

// A noise scale of 100 √3 to the middle's √3 again is 300: S(400) = 100 · (300 + 400) / (300 + 100) / 4 = 43.75. Low: 3
// times the noise scale's high end, high: once its low end.
TEST(TargetCost, FollowsTheNoiseScaleAndTheStep) {
  const double phi = 300.0 / std::sqrt(3.0);
  const std::vector<TrainingTime> times = {at(1, 36.0), at(4, 72.0)};
  const Table table = target_cost_table(options_of(), times, {{phi, phi, phi, 0.9}, {}, 2.0, 8});
  EXPECT_EQ(base_training_steps(options_of()), 100);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_NEAR(value(table, 0, "steps"), 100.0, 1e-9);
  EXPECT_NEAR(value(table, 0, "time_s"), 3600.0, 1e-6);
  EXPECT_NEAR(value(table, 0, "gpu_hours"), 8.0, 1e-9) << "one complete node of 8";
  EXPECT_NEAR(value(table, 0, "cost"), 16.0, 1e-9);
  EXPECT_NEAR(value(table, 1, "steps"), 43.75, 1e-9);
  EXPECT_NEAR(value(table, 1, "epochs"), 17.5, 1e-9);
  EXPECT_NEAR(value(table, 1, "time_s"), 3150.0, 1e-6);
  EXPECT_NEAR(value(table, 1, "steps_low"), 25.0 * (3.0 * phi + 400.0) / (3.0 * phi + 100.0), 1e-9);
  EXPECT_NEAR(value(table, 1, "steps_high"), 25.0 * (phi + 400.0) / (phi + 100.0), 1e-9);
  EXPECT_NEAR(value(table, 1, "time_low_s"), 0.9 * 72.0 * value(table, 1, "steps_low"), 1e-6);
  EXPECT_THAT(table.note, HasSubstr("whole nodes of 8"));
  EXPECT_THAT(table.note, HasSubstr("Lowest time, ddp: N = 4"));
}

// The measured trainings replace the noise scale; the note warns beyond 8 times their largest batch.
TEST(TargetCost, FollowsMeasuredTrainings) {
  const std::vector<TrainingTime> times = {at(1, 36.0), at(4, 72.0), at(16, 100.0)};
  const std::vector<learning_rate::BatchSamples> measured = {{50.0, 9000.0}, {100.0, 12000.0}, {200.0, 18000.0}};
  const Table table = target_cost_table(options_of(), times, {{}, {}, 0.0, 0, measured});
  ASSERT_EQ(table.rows.size(), 3U);
  // E = 6000 (1 + B / 100): 30000 samples at a batch of 400.
  EXPECT_NEAR(value(table, 0, "steps"), 120.0, 0.05 * 120.0);
  EXPECT_NEAR(value(table, 1, "steps"), 75.0, 0.1 * 75.0);
  EXPECT_NEAR(value(table, 1, "epochs"), 30.0, 0.1 * 30.0);
  EXPECT_THAT(table.note, HasSubstr("the batches 50, 100, 200."));
  EXPECT_THAT(table.note, Not(HasSubstr("use the interval")));
  const std::vector<TrainingTime> far = {at(17, 100.0)};
  EXPECT_THAT(target_cost_table(options_of(), far, {{}, {}, 0.0, 0, measured}).note,
              HasSubstr("From N = 17 on, the batch is more than 8 times"));
}

TEST(TargetCost, WithoutAPriceHasNoCostAndAWorkerIsAGpu) {
  const std::vector<TrainingTime> times = {at(1, 36.0), at(4, 72.0)};
  const Table table = target_cost_table(options_of(), times, {{100.0, 100.0, 100.0, 0.9}, 10, 0.0, 0});
  EXPECT_NEAR(value(table, 0, "steps"), 10.0, 1e-12);
  EXPECT_NEAR(value(table, 0, "gpu_hours"), 0.1, 1e-12);
  EXPECT_EQ(table.rows[0].back(), Cell());
  EXPECT_THAT(table.note, HasSubstr("lowest cost: N = 1."));
}

TEST(TargetCost, WithoutAPredictedStepSaysWhatToDo) {
  TrainingTime none = at(4, 0.0);
  const TargetQuestion target{{100.0, 100.0, 100.0, 0.9}, {}, 0.0, 0};
  const Table table = target_cost_table(options_of(), {&none, 1}, target);
  EXPECT_TRUE(table.rows.empty());
  EXPECT_THAT(table.empty, HasSubstr("ddpprof run"));
  none.note = "fsdp at another batch is not predicted";
  EXPECT_THAT(target_cost_table(options_of(), {&none, 1}, target).empty, HasSubstr(none.note)) << "the reason, if known";
}

}  // namespace
}  // namespace ddpprof::report
