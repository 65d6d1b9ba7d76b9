// Tables of learning rates by rule, of training times, and of the forms of an all-reduce fit.
#include <gtest/gtest.h>

#include "analysis/predict/learning_rate.hpp"
#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"
#include "analysis/report/tables/learning_rate/rate_choice.hpp"
#include "analysis/report/tables/learning_rate/stored_rates.hpp"
#include "analysis/report/tables/models/fit_tables.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

fit::LearningRateOptions options_of(bool adaptive) {
  fit::LearningRateOptions options;
  options.workers = {16, 4};
  options.base_lr = 0.1;
  options.samples_per_worker = 32;
  options.samples = 10'000;
  options.epochs = 90;
  options.adaptive_optimizer = adaptive;
  return options;
}

// kappa 4 and 16; an epoch at N = 4: ceil(2500 / 32) = 79 steps.
TEST(RulesTable, HasTheRulesSideBySide) {
  const Table table = rules_table(options_of(false));
  ASSERT_EQ(table.rows.size(), 2U);
  const Row expected{std::int64_t{4},  std::int64_t{128},     4.0,    0.4,    0.2,   0.1, std::int64_t{5 * 79},
                     std::int64_t{79}, std::int64_t{90 * 79}, Cell(), Cell(), Cell()};
  ASSERT_EQ(table.rows[0].size(), 15U);
  EXPECT_EQ(Row(table.rows[0].begin(), table.rows[0].begin() + 12), expected);
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows[0][12]), 0.4) << "tuned, SGD: the linear rule";
  EXPECT_LT(std::get<double>(table.rows[0][13]), 0.2);
  EXPECT_GT(std::get<double>(table.rows[0][14]), 0.4);
  EXPECT_EQ(table.rows[1][4], Cell(0.4)) << "the root of 16";
}

TEST(RulesTable, ScalesAdamsSettingsWhileThereAreAny) {
  const Table table = rules_table(options_of(true));
  EXPECT_NEAR(std::get<double>(table.rows[0][9]), 0.6, 1e-12);
  EXPECT_NEAR(std::get<double>(table.rows[0][10]), 0.996, 1e-12);
  EXPECT_EQ(table.rows[1][9], Cell()) << "16 (1 - 0.9) is above 1";
  EXPECT_LT(std::get<double>(table.rows[1][12]), 0.2) << "tuned, Adam: less than the square root";
  EXPECT_NEAR(std::get<double>(table.rows[1][14]), 0.4, 1e-12) << "the root is the upper end";
}

TEST(SquareRootRates, StandBesideTheLinearOnes) {
  fit::LearningRateOptions by_root = options_of(false);
  by_root.rule = learning_rate::Rule::square_root;
  const auto linear = fit::learning_rates(options_of(false)), root = fit::learning_rates(by_root);
  ASSERT_EQ(root.size(), linear.size());
  EXPECT_EQ(root[0].rule, "square root");
  EXPECT_EQ(linear[0].rule, "linear");
  EXPECT_DOUBLE_EQ(root[1].target_lr, 0.4);
  EXPECT_DOUBLE_EQ(linear[1].target_lr, 1.6);
  EXPECT_EQ(root[1].warmup_steps, linear[1].warmup_steps);
}

// A noise scale of 100 samples at a base batch of 32: critical batch √3 · 100, red from √3 · 100 + 2 · 32 samples on.
TEST(RateChoiceTable, RatesTheLinearRuleByTheNoiseScale) {
  RateChoice choice{options_of(false), true, "SGD", false, stats::Interval{50.0, 100.0, 200.0, 0.9}};
  Table table = rate_choice_table(choice);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(cell_of(table, table.rows[0], "linear_rule"), Cell("amber")) << "at a global batch of 128";
  EXPECT_EQ(cell_of(table, table.rows[1], "linear_rule"), Cell("red")) << "at a global batch of 512";
  for (const Row& row : table.rows) EXPECT_EQ(cell_of(table, row, "red_batch_samples"), Cell(std::int64_t{238}));
  choice.adaptive = true;
  table = rate_choice_table(choice);
  EXPECT_EQ(cell_of(table, table.rows[1], "linear_rule"), Cell()) << "the rating is for SGD";
  choice.adaptive = false;
  choice.noise_scale_samples.reset();
  table = rate_choice_table(choice);
  EXPECT_EQ(cell_of(table, table.rows[1], "linear_rule"), Cell());
}

// Adam's square root ends where κ (1 - 0.9) reaches 1: κ is 4 and 16.
TEST(RateTables, HaveNoRateWhereTheRuleRefuses) {
  fit::LearningRateOptions options = options_of(true);
  options.rule = learning_rate::Rule::square_root;
  EXPECT_EQ(fit::learning_rates(options).size(), 1U);
  std::vector<Table> tables = rate_tables(options);
  ASSERT_EQ(tables.size(), 2U);
  const Table& rates = tables[0];
  ASSERT_EQ(rates.rows.size(), 2U);
  EXPECT_EQ(rates.rows[0][0], Cell(std::int64_t{4}));
  EXPECT_EQ(rates.rows[0][4], Cell(0.2));
  EXPECT_EQ(rates.rows[1][0], Cell(std::int64_t{16}));
  EXPECT_EQ(rates.rows[1][2], Cell(std::int64_t{512}));
  EXPECT_EQ(rates.rows[1][4], Cell());
  EXPECT_EQ(rates.rows[1][5], Cell());
  EXPECT_NE(std::get<std::string>(rates.rows[1][6]).find("κ (1 − β₁) must be below 1"), std::string::npos);
  for (const Row& row : tables[1].rows) EXPECT_EQ(row[0], Cell(std::int64_t{4}));
  options.workers = {16};
  tables = rate_tables(options);
  EXPECT_TRUE(tables[1].rows.empty());
  EXPECT_NE(tables[1].empty.find("κ (1 − β₁) must be below 1"), std::string::npos);
}

TEST(RateTables, SayOnceWhatAdaScaleLacksAtEveryN) {
  fit::LearningRateOptions options = options_of(false);
  options.rule = learning_rate::Rule::adascale;
  for (const Table& table : rate_tables(options)) {
    EXPECT_TRUE(table.rows.empty()) << table.name;
    EXPECT_NE(table.empty.find("noise scale, which is not known"), std::string::npos) << table.empty;
  }
  options.noise_scale_samples = 320.0;
  for (const Table& table : rate_tables(options)) EXPECT_EQ(table.rows.size(), 2U) << table.name;
}

// Batches of the worker continue across epochs. With batches of 32 and 10000 samples, each of 16 workers has 625
// samples, and each of 1000 workers has 10.
TEST(RulesTable, HasFractionsOfAStepWhereBatchesSpanEpochs) {
  fit::LearningRateOptions options = options_of(false);
  options.applied = true;
  options.workers = {16, 1000};
  const Table table = rules_table(options);
  EXPECT_EQ(table.rows[0][7], Cell(625.0 / 32.0));
  EXPECT_EQ(table.rows[0][8], Cell(std::int64_t{1758})) << "90 times 19.53";
  EXPECT_EQ(table.rows[1][8], Cell(std::int64_t{28})) << "90 times 10 of 32 samples";
  const TrainingTime rows[] = {{"ddp", 1000, 64'000.0, 0.5, 0.4, 0.6, 0.9, ""}};
  const Table times = training_time_table(options, rows);
  EXPECT_DOUBLE_EQ(std::get<double>(times.rows[0][4]), 14.0);
  EXPECT_EQ(times.rows[0][9], Cell("")) << "no note, because no single step represents an epoch";
}

// 90 epochs of 79 steps of 0.128 s, with the interval of the step.
TEST(TrainingTimeTable, IsTheRulesStepsTimesTheStep) {
  const TrainingTime rows[] = {{"ddp", 4, 1000.0, 0.128, 0.120, 0.160, 0.9, ""}, {"dp", 4, 0, 0, 0, 0, 0, "why not"}};
  const Table table = training_time_table(options_of(false), rows);
  ASSERT_EQ(table.rows.size(), 2U);
  const auto steps = static_cast<double>(std::get<std::int64_t>(rules_table(options_of(false)).rows[0][8]));
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows[0][4]), steps * 0.128);
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows[0][4]), 910.08);
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows[0][5]), steps * 0.120);
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows[0][6]), steps * 0.160);
  EXPECT_EQ(table.rows[0][7], Cell("15 min 10 s"));
  EXPECT_EQ(table.rows[0][9], Cell(""));
  EXPECT_EQ(table.rows[1][4], Cell());
  EXPECT_EQ(table.rows[1][9], Cell("why not"));
  EXPECT_EQ(table.columns[3].title, "median step");
  EXPECT_NE(table.note.find("Steps that are slower than the median add to the time"), std::string::npos) << table.note;
}

// 1000 workers with 32 samples: the 10000 samples of an epoch do not fill the only step.
TEST(TrainingTimeTable, CountsTheStepOfAnEpochBelowOneBatch) {
  fit::LearningRateOptions options = options_of(false);
  options.workers = {1000};
  const TrainingTime rows[] = {{"ddp", 1000, 64'000.0, 0.5, 0.4, 0.6, 0.9, "a note of its own"}};
  const Table table = training_time_table(options, rows);
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows[0][4]), 90 * 0.5);
  EXPECT_EQ(rules_table(options).rows[0][8], Cell(std::int64_t{90}));
  EXPECT_EQ(table.rows[0][9], Cell("a note of its own; an epoch of 10000 samples is smaller than one global batch "
                                   "of 32000; its only step is counted as a full step"));
}

TEST(DurationText, IsInTheUnitsPeopleUse) {
  EXPECT_EQ(units::duration_text(12.34), "12.3 s");
  EXPECT_EQ(units::duration_text(61.0), "1 min 1 s");
  EXPECT_EQ(units::duration_text(3'600.0 + 25 * 60), "1 h 25 min");
  EXPECT_EQ(units::duration_text(2 * 86'400.0 + 3 * 3'600.0), "2 d 3 h");
  EXPECT_EQ(units::clock_text(59.4), "59 s");
  EXPECT_EQ(units::clock_text(65.0), "1:05 min");
  EXPECT_EQ(units::clock_text(2 * 3'600.0 + 5 * 60), "2:05 h");
}

// Points that a ring with 100 µs and 1 GB/s explains exactly, one rank per host: the forms differ in the latency.
fit::AllReduceFit ring_fit() {
  std::vector<fit::CollectivePoint> points;
  for (const std::int64_t workers : {2, 4, 8})
    for (const std::int64_t bytes : {1 << 10, 1 << 16, 1 << 20, 16 << 20}) {
      fit::CollectivePoint point;
      point.machine.workers = point.machine.nodes = point.machine.machines = workers;
      point.machine.cores = 8;
      point.machine.backend = "gloo";
      point.bytes = bytes;
      const auto n = static_cast<double>(workers);
      point.transfer_s = 2 * (n - 1) * 100e-6 + 2 * (n - 1) / n * static_cast<double>(bytes) * 1e-9;
      point.noise = 0.01;
      point.count = 20;
      point.bench = true;
      points.push_back(point);
    }
  return fit::fit_all_reduce(points);
}

TEST(FormsTable, SaysWhyTheFormWon) {
  const fit::AllReduceFit fit = ring_fit();
  ASSERT_GE(fit.forms.size(), 2U);
  const Table table = forms_table(fit);
  ASSERT_EQ(table.rows.size(), fit.forms.size());
  EXPECT_EQ(table.rows[0][0], Cell("ring")) << fit.status;
  EXPECT_EQ(table.rows[0][1], Cell(std::int64_t{1}));
  EXPECT_EQ(table.rows[1][1], Cell(std::int64_t{0}));
  double shares = 0;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    EXPECT_EQ(std::get<double>(table.rows[i][2]), *fit.forms[i].held_out_error);
    shares += std::get<double>(table.rows[i][4]);
  }
  EXPECT_NEAR(shares, 1.0, 1e-12);
  EXPECT_EQ(table.rows[0][6], Cell("selected: the smallest error at the held-out N"));
  EXPECT_TRUE(forms_table({}).rows.empty());
}

TEST(AllReducePointsTable, IsInNcclTestsTerms) {
  const fit::AllReduceFit fit = ring_fit();
  const Table table = all_reduce_points_table(fit);
  ASSERT_EQ(table.rows.size(), 12U);
  const fit::CollectivePoint& last = fit.points.back();
  const double algbw = static_cast<double>(last.bytes) / last.transfer_s;
  EXPECT_EQ(table.rows.back()[7], Cell(algbw));
  EXPECT_EQ(table.rows.back()[8], Cell(algbw * 1.75)) << "2 (8 - 1) / 8";
  EXPECT_EQ(table.rows.back()[5], Cell(fit.picked().solution.fitted.back()));
}

// A point without other traffic on the link equals the curve.
TEST(FormFit, AloneIsTheModelOfAPointAlone) {
  const fit::AllReduceFit fit = ring_fit();
  for (std::size_t i = 0; i < fit.points.size(); ++i) {
    const fit::CollectivePoint& point = fit.points[i];
    EXPECT_DOUBLE_EQ(
        fit.picked().alone(point.machine, point.bytes, fit.picked().solution.values, point.bench).total_s(),
        fit.picked().solution.fitted[i]);
  }
}

}  // namespace
}  // namespace ddpprof::report
