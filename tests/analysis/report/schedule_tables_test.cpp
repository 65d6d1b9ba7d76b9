// Tables of every rule's schedule and of larger batches: cells against the rules' equations, worked out by hand.
#include "analysis/report/tables/learning_rate/schedule_tables.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace ddpprof::report {
namespace {

using learning_rate::DecayKind;
using learning_rate::Rule;
using testing::HasSubstr;

// The ResNet-50 recipe: kappa 32 at N = 256; an epoch has 157 steps.
fit::LearningRateOptions resnet50() {
  fit::LearningRateOptions options;
  options.workers = {256, 8};
  options.base_lr = 0.1;
  options.base_workers = 8;
  options.samples_per_worker = 32;
  options.samples = 1'281'167;
  return options;
}

const Cell& cell(const Table& table, std::size_t row, const std::string& name) {
  const auto column = std::ranges::find(table.columns, name, &Column::name);
  return table.rows.at(row).at(static_cast<std::size_t>(column - table.columns.begin()));
}
double value(const Table& table, std::size_t row, const std::string& name) {
  return std::get<double>(cell(table, row, name));
}

TEST(SchedulesTable, HasARowForEachRuleAtEachN) {
  fit::LearningRateOptions options = resnet50();
  options.decay.kind = DecayKind::step;
  options.noise_scale_samples = 1792.0;
  const Table table = schedules_table(options, learning_rate::every_rule);
  ASSERT_EQ(table.rows.size(), 12U);
  EXPECT_EQ(cell(table, 0, "workers"), Cell(std::int64_t{8}));
  EXPECT_EQ(cell(table, 7, "rule"), Cell("linear"));
  EXPECT_EQ(cell(table, 7, "warmup_steps"), Cell(std::int64_t{785}));
  EXPECT_EQ(cell(table, 7, "total_steps"), Cell(std::int64_t{90 * 157}));
  EXPECT_DOUBLE_EQ(value(table, 7, "start_lr"), 0.1);
  EXPECT_DOUBLE_EQ(value(table, 7, "target_lr"), 3.2);
  EXPECT_DOUBLE_EQ(value(table, 7, "quarter_lr"), 3.2) << "epoch 22.5, before the first cut";
  EXPECT_DOUBLE_EQ(value(table, 7, "half_lr"), 0.32) << "epoch 45";
  EXPECT_DOUBLE_EQ(value(table, 7, "three_quarters_lr"), 0.032) << "epoch 67.5";
  EXPECT_NEAR(value(table, 7, "last_lr"), 0.0032, 1e-15);
  EXPECT_EQ(cell(table, 7, "note"), Cell(""));
  EXPECT_EQ(cell(table, 11, "rule"), Cell("AdaScale"));
  EXPECT_NEAR(value(table, 11, "target_lr"), 0.1 * 32.0 * 2048.0 / 9984.0, 1e-12) << "κ (φ + B₀) / (φ + B)";
  EXPECT_THAT(table.note, HasSubstr("by 0.1 at the epochs 30, 60, 80"));
  for (std::size_t row = 0; row < 6; ++row)
    EXPECT_DOUBLE_EQ(value(table, row, "target_lr"), 0.1) << "every rule is the base rate at the base batch";
}

TEST(SchedulesTable, SaysWhyARuleHasNoAnswer) {
  fit::LearningRateOptions adam = resnet50();
  adam.adaptive_optimizer = true;
  const Rule rules[] = {Rule::square_root, Rule::adascale};
  const Table table = schedules_table(adam, rules);
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_DOUBLE_EQ(value(table, 0, "target_lr"), 0.1);
  EXPECT_EQ(cell(table, 2, "target_lr"), Cell()) << "κ 32";
  EXPECT_THAT(std::get<std::string>(cell(table, 2, "note")), HasSubstr("κ = 32"));
  EXPECT_THAT(std::get<std::string>(cell(table, 1, "note")), HasSubstr("noise scale, which is not known"));
  EXPECT_THAT(table.note, HasSubstr("Decay after the warm-up: none"));
  adam.decay.kind = DecayKind::polynomial;
  adam.decay.power = -1.0;
  EXPECT_THROW(schedules_table(adam, rules), std::invalid_argument);
}

// Critical batch 1 · 1000, √3 · 1000 and 3 · 1000; B₀ = 256, B = 8192: gain 32 (c + 256) / (c + 8192).
TEST(LargeBatchesTable, IsOfTheCriticalBatchesThatTheNoiseScaleAllows) {
  const Table table = large_batches_table(resnet50(), {1000.0, 1000.0, 1000.0, 0.9});
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(value(table, 0, "gain"), 1.0);
  EXPECT_EQ(cell(table, 0, "linear_rule"), Cell("green"));
  const double low = 32.0 * 1256.0 / 9192.0, middle = 32.0 * 1988.0508 / 9924.0508, high = 32.0 * 3256.0 / 11192.0;
  EXPECT_NEAR(value(table, 1, "gain_low"), low, 1e-9);
  EXPECT_NEAR(value(table, 1, "gain"), middle, 1e-4);
  EXPECT_NEAR(value(table, 1, "gain_high"), high, 1e-9);
  EXPECT_NEAR(value(table, 1, "efficiency"), middle / 32.0, 1e-5);
  EXPECT_NEAR(value(table, 1, "steps_share_high"), 1.0 / low, 1e-9);
  EXPECT_EQ(cell(table, 1, "linear_rule"), Cell("red"));
  // Efficiency 0.8: (c + 256) / 0.8 − c of 32 samples a worker: 17.8, 23.5, 33.4; 0.5: c + 512: 47.25, 70.1, 109.75.
  EXPECT_THAT(table.note, HasSubstr("Green up to N = 23 (17 to 33), amber up to N = 70 (47 to 109)"));
  EXPECT_THROW(large_batches_table(resnet50(), {-1.0, 1000.0, 1000.0, 0.9}), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::report
