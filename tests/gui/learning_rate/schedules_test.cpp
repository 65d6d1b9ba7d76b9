// The case of Goyal et al. 2017, as far as it is arithmetic: base rate 0.1 for 256 samples, batch 8192 on 32 times as
// many workers.
#include "gui/models/learning_rate/schedules.hpp"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <cmath>

#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"
#include "analysis/report/tables/learning_rate/stored_rates.hpp"
#include "analysis/report/tables/learning_rate/training_times.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "gui/models/report_table_model.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::gui {
namespace {

RateInputs inputs_at(std::int64_t workers) {
  RateInputs inputs;
  inputs.options.workers = {8, 32};
  inputs.options.base_lr = 0.1;
  inputs.options.samples = 1'281'167;
  inputs.options.warmup_epochs = 5.0;
  inputs.options.epochs = 90;
  inputs.set_batch(256, 1);
  inputs.workers = workers;
  return inputs;
}

// An epoch: ceil(ceil(1281167 / 32) / 256) = 157 steps.
TEST(ScheduleCurves, ClimbToEachRulesTarget) {
  const auto curves = schedule_curves(inputs_at(32), ScheduleAxis::steps);
  ASSERT_EQ(curves.size(), 3U);
  EXPECT_EQ(curves[0].x, (std::vector<double>{0, 785, 14130}));
  EXPECT_DOUBLE_EQ(curves[0].rate[0], 0.1);
  EXPECT_DOUBLE_EQ(curves[0].rate[1], 3.2);
  EXPECT_DOUBLE_EQ(curves[0].rate[2], 3.2);
  EXPECT_DOUBLE_EQ(curves[1].rate[2], 0.1 * std::sqrt(32.0));
  EXPECT_EQ(curves[2].rate, (std::vector<double>{0.1, 0.1}));
  const auto epochs = schedule_curves(inputs_at(32), ScheduleAxis::epochs);
  EXPECT_EQ(epochs[0].x, (std::vector<double>{0, 5, 90}));
}

// The schedule of Goyal et al.: a tenth at epochs 30, 60 and 80 of 90, with 157 steps each.
TEST(ScheduleCurves, DecayAsInTheScenario) {
  RateInputs inputs = inputs_at(32);
  inputs.options.decay.kind = learning_rate::DecayKind::step;
  const auto steps = schedule_curves(inputs, ScheduleAxis::steps);
  EXPECT_EQ(steps[0].x, (std::vector<double>{0, 785, 4709, 4710, 9419, 9420, 12559, 12560, 14130}));
  EXPECT_DOUBLE_EQ(steps[0].rate[2], 3.2);
  EXPECT_DOUBLE_EQ(steps[0].rate[3], 0.32);
  EXPECT_NEAR(steps[0].rate.back(), 0.0032, 1e-15);
  EXPECT_NEAR(steps[2].rate.back(), 0.0001, 1e-15) << "the base rate decays too";
  inputs.options.decay.kind = learning_rate::DecayKind::cosine;
  const auto cosine = schedule_curves(inputs, ScheduleAxis::steps);
  EXPECT_EQ(cosine[0].x.size(), 66U);
  EXPECT_NEAR(cosine[0].rate[33], 1.6, 0.01) << "half way";
  EXPECT_NEAR(cosine[0].rate.back(), 0.0, 1e-15);
}

TEST(ScheduleCurves, StopWithTheTrainingWhereTheWarmUpIsLonger) {
  RateInputs inputs = inputs_at(32);
  inputs.options.epochs = 2;
  const auto curves = schedule_curves(inputs, ScheduleAxis::epochs);
  EXPECT_EQ(curves[0].x, (std::vector<double>{0, 2}));
  EXPECT_DOUBLE_EQ(curves[0].rate.back(), 0.1 + 3.1 * 2.0 / 5.0);
}

TEST(ScheduleCurves, IncludeTheScenariosRuleAndOnlyRulesWithARate) {
  RateInputs inputs = inputs_at(32);
  inputs.options.rule = learning_rate::Rule::adascale;
  EXPECT_EQ(schedule_curves(inputs, ScheduleAxis::steps).size(), 3U) << "the noise scale is unknown";
  inputs.set_noise_scale({1000.0, 1792.0, 3000.0, 0.9});
  const auto curves = schedule_curves(inputs, ScheduleAxis::epochs);
  ASSERT_EQ(curves.size(), 4U);
  EXPECT_EQ(curves[3].rule, learning_rate::Rule::adascale);
  // 32 (1792 + 256) / (1792 + 8192) of the base rate, for 90 * 32 / that number of epochs.
  EXPECT_NEAR(curves[3].rate.front(), 0.1 * 32.0 * 2048.0 / 9984.0, 1e-12);
  EXPECT_NEAR(curves[3].x.back(), 90.0 * 9984.0 / 2048.0, 2.0) << "the last batch of its epochs is complete";
  inputs.options.rule = learning_rate::Rule::linear;
  inputs.options.adaptive_optimizer = true;
  const auto adam = schedule_curves(inputs, ScheduleAxis::steps);
  ASSERT_EQ(adam.size(), 2U);
  EXPECT_EQ(adam[1].rule, learning_rate::Rule::none) << "32 (1 - 0.9) is above 1: no square root";
  EXPECT_NE(answer_text(inputs).find("Square-root rule: no rate"), std::string::npos);
}

TEST(RateTables, EqualTheCommandLineForTheListAndTheChosenN) {
  for (const std::int64_t chosen : {32, 24}) {
    const RateInputs inputs = inputs_at(chosen);
    fit::LearningRateOptions asked = inputs.options;
    if (chosen == 24) asked.workers = {8, 24, 32};
    const auto rows = fit::learning_rates(asked);
    const RateTables tables = rate_tables(inputs);
    EXPECT_EQ(tables.rates.rows, report::learning_rate_table(rows).rows);
    EXPECT_EQ(tables.warmup.rows, report::warmup_table(rows).rows);
    EXPECT_EQ(tables.rules.rows, report::rules_table(asked).rows);
  }
  const RateTables tables = rate_tables(inputs_at(32));
  ReportTableModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_table(tables.rates);
  EXPECT_EQ(model.rowCount(), 2);
  model.set_table(tables.warmup);
  EXPECT_EQ(model.rowCount(), 10);
  model.set_table(tables.rules);
  EXPECT_EQ(model.rowCount(), 2);
}

TEST(RateCommand, HasOnlyDifferencesFromTheScenario) {
  const RateInputs stored = inputs_at(32);
  EXPECT_EQ(command_line("/a b/run.db", stored, stored), "ddpprof lr '/a b/run.db' --workers 8,32 --rule all");
  RateInputs decaying = stored;
  decaying.options.decay.kind = learning_rate::DecayKind::cosine;
  EXPECT_EQ(command_line("run.db", decaying, decaying), "ddpprof lr run.db --workers 8,32");
  RateInputs edited = inputs_at(24);
  edited.set_batch(64, 2);
  edited.options.base_lr = 0.0123456789123;
  edited.options.base_workers = 4;
  edited.options.epochs = 30;
  edited.options.warmup_epochs = 0.5;
  edited.options.adaptive_optimizer = true;
  edited.target_loss = 1.25;
  EXPECT_EQ(command_line("run.db", edited, stored),
            "ddpprof lr run.db --workers 8,24,32 --base 0.0123456789123 --base-workers 4 --batch-per-worker 64 "
            "--accumulation 2 --epochs 30 --warmup-epochs 0.5 --optimizer adaptive --target-loss 1.25 --rule all");
}

TEST(RateWords, GiveTheLimitOfTheRule) {
  EXPECT_EQ(largest_validated_workers(inputs_at(32)), 32);
  EXPECT_TRUE(
      answer_text(inputs_at(32))
          .starts_with("At N = 32 the global batch is 8192 samples: κ = 32 × the batch of 256 for which the base "
                       "rate 0.1 was tuned. Linear rule: 3.2, "
                       "reached over 785 steps of warm-up (5 epochs). Square-root rule: 0.5657."))
      << answer_text(inputs_at(32));
  EXPECT_TRUE(limits_text(inputs_at(32)).starts_with("The linear rule was validated")) << "no warning at 8192";
  EXPECT_TRUE(limits_text(inputs_at(64)).starts_with("Warning: the global batch exceeds 8192"));
  EXPECT_NE(limits_text(inputs_at(64)).find("With this batch, that is N = 32"), std::string::npos);
  RateInputs huge = inputs_at(1);
  huge.set_batch(5000, 2);
  EXPECT_EQ(largest_validated_workers(huge), 0);
  EXPECT_NE(limits_text(huge).find("One worker with this batch already exceeds it"), std::string::npos);
  RateInputs adam = inputs_at(32);
  adam.options.adaptive_optimizer = true;
  EXPECT_NE(limits_text(adam).find("square-root rule is usual"), std::string::npos);
  EXPECT_NE(limits_text(adam).find("ends here too"), std::string::npos) << "32 (1 - 0.9) is above 1";
}

TEST(RateWords, GiveTheLimitByTheMeasuredNoise) {
  RateInputs inputs = inputs_at(32);
  EXPECT_NE(limits_text(inputs).find("This file has no usable value of it"), std::string::npos);
  EXPECT_TRUE(rate_tables(inputs).batches.rows.empty());
  EXPECT_NE(rate_tables(inputs).batches.empty.find("measure.gradient_noise_every"), std::string::npos);
  inputs.noise_scale_samples = stats::Interval{1000.0, 1000.0, INFINITY, 0.9};
  const std::string text = limits_text(inputs);
  EXPECT_NE(text.find("Measured in this file: 1000 (1000 to unlimited) samples"), std::string::npos) << text;
  // Critical batch 1000, 1732, infinite: (c + 256) / 0.8 - c = 570, 753, infinite, with 256 samples per worker.
  EXPECT_NE(text.find("up to N = 2 (2 to any)"), std::string::npos) << text;
  EXPECT_EQ(rate_tables(inputs).batches.rows.size(), 2U);
}

TEST(RateCommand, NamesTheBatchThatTheRateWasTunedFor) {
  RateInputs stored = inputs_at(32);
  stored.options.tuned_batch = 256;
  RateInputs edited = stored;
  edited.options.tuned_batch = 512;
  EXPECT_EQ(command_line("run.db", edited, stored), "ddpprof lr run.db --workers 8,32 --base-batch 512 --rule all");
  edited.options.tuned_batch.reset();
  EXPECT_EQ(command_line("run.db", edited, stored), "ddpprof lr run.db --workers 8,32 --base-workers " +
                                                        std::to_string(edited.options.base_workers) + " --rule all");
}

class Times : public testing::Test {
 protected:
  Times() {
    fit::synthetic::add_ddp(database.get(), {}, {1, 2, 4}, 1);
    file.models = std::make_shared<const fit::Models>(fit::fit_models(database.get()));
    file.predict.workers = {4, 8, 32};
  }
  std::vector<report::TrainingTime> times(const RateInputs& inputs) {
    return report::training_times(file.models, file.predict, inputs.asked(), inputs.batch, inputs.accumulation);
  }

  fit::synthetic::TemporaryDatabase database{"training-times"};
  OpenedFile file;
};

TEST_F(Times, AreTheStepsTimesThePredictedStep) {
  RateInputs inputs = inputs_at(4);
  inputs.set_batch(32, 1);  // as measured
  const auto predictions = fit::predict_all(database.get(), file.predict).predictions;
  const auto rows = times(inputs);
  ASSERT_EQ(rows.size(), 3U) << "the chosen N, and the list's";
  const std::int64_t steps[] = {10010, 5005, 1252};  // for an epoch of 1281167 samples, 32 per worker
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i].workers, predictions[i].world_size);
    EXPECT_EQ(rows[i].throughput, predictions[i].throughput) << "to the digit";
    EXPECT_EQ(rows[i].step_low_s, predictions[i].step_low_s);
    EXPECT_EQ(rows[i].time_s(inputs.options), 90.0 * static_cast<double>(steps[i]) * predictions[i].step_s);
  }
  inputs.set_batch(64, 1);
  const auto doubled = times(inputs);
  EXPECT_GT(doubled[1].step_s, rows[1].step_s);
  EXPECT_NEAR(doubled[1].throughput, 8 * 64 / doubled[1].step_s, 1e-6);
  EXPECT_EQ(doubled[1].note, "for 64 samples per worker and step; measured: 32");
}

TEST_F(Times, AreTheTablesOfTheSameN) {
  const RateInputs inputs = inputs_at(4);
  const TimeTables tables = time_tables(file, inputs, {});
  EXPECT_EQ(tables.training.rows, report::training_time_table(inputs.asked(), times(inputs)).rows);
  EXPECT_TRUE(tables.target.rows.empty()) << "no loss was recorded";
  EXPECT_FALSE(tables.default_target);
  Cancelled cancelled;
  cancelled.set();
  EXPECT_TRUE(time_tables(file, inputs, cancelled).training.rows.empty());
  OpenedFile unfitted;
  unfitted.why_no_models = "nothing measured";
  EXPECT_EQ(time_tables(unfitted, inputs, {}).training.empty, "Cannot predict the training time: nothing measured");
}

TEST(ParseWorkers, ReadsAListOrReportsTheError) {
  std::string why;
  EXPECT_EQ(parse_workers(" 64, 8,8 16", why), (std::vector<std::int64_t>{8, 16, 64}));
  EXPECT_EQ(workers_text({8, 16}), "8, 16");
  for (const char* bad : {"", " ", "8,x", "0", "-4", "8.5", "1000001", "99999999999999999999"}) {
    why.clear();
    EXPECT_FALSE(parse_workers(bad, why)) << bad;
    EXPECT_NE(why.find("Expected"), std::string::npos) << bad;
  }
  parse_workers("8, x9, 3", why);
  EXPECT_TRUE(why.starts_with("“x9”")) << why;
}

}  // namespace
}  // namespace ddpprof::gui
