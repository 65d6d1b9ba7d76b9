// Steps, epochs and seconds to a target loss for a linear loss, so that expectations can be calculated by hand.
#include "analysis/report/tables/learning_rate/time_to_target.hpp"
#include "analysis/metrics/loss_curves.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ddpprof::report {
namespace {

// loss(t) = begin - fall · t at step t from 0; its mean over ten steps is the line 4.5 steps before.
metrics::Configuration falling(const std::string& strategy, std::int64_t workers, double begin, double fall,
                               std::int64_t steps, std::int64_t measurement = 1) {
  metrics::Configuration made;
  made.kind = "train";
  made.strategy = strategy;
  made.world_size = workers;
  made.batch_per_worker = 16;
  made.accumulation = 2;
  made.measurements = {measurement};
  for (std::int64_t i = 0; i < steps; ++i) {
    metrics::RunStep step;
    step.measurement = measurement;
    step.step = i;
    step.kind = i < 5 ? "warmup" : "measured";
    step.duration_s = i < 5 ? 9.0 : 0.25;
    step.has_loss = true;
    step.loss = begin - fall * static_cast<double>(i);
    (i < 5 ? made.warmup : made.measured).push_back(step);
  }
  return made;
}

// A second repeat, `later` steps behind the first.
void repeat(metrics::Configuration& of, std::int64_t later, double fall) {
  metrics::Configuration other = of;
  for (auto* steps : {&other.warmup, &other.measured})
    for (metrics::RunStep& step : *steps) {
      step.measurement = 2;
      step.loss += fall * static_cast<double>(later);
    }
  of.measurements.push_back(2);
  of.warmup.insert(of.warmup.end(), other.warmup.begin(), other.warmup.end());
  of.measured.insert(of.measured.end(), other.measured.begin(), other.measured.end());
}

fit::LearningRateOptions options_of(std::int64_t samples_per_worker = 32) {
  fit::LearningRateOptions options;
  options.samples_per_worker = samples_per_worker;
  options.samples = 640;
  return options;
}

TrainingTime asked(const std::string& strategy, std::int64_t workers, double step_s = 0.5) {
  TrainingTime row;
  row.strategy = strategy;
  row.workers = workers;
  row.step_s = step_s;
  row.step_low_s = 0.8 * step_s;
  row.step_high_s = 1.5 * step_s;
  return row;
}

double real(const Cell& cell) { return std::get<double>(cell); }
std::int64_t whole(const Cell& cell) { return std::get<std::int64_t>(cell); }
std::string words(const Cell& cell) { return std::get<std::string>(cell); }
enum Column {
  strategy,
  workers,
  loss,
  basis,
  batch,
  steps_low,
  steps_high,
  epochs_low,
  epochs_high,
  low_s,
  high_s,
  note
};

TEST(Smoothed, IsTheMeanOfTenStepsWhereAllAreKnown) {
  metrics::Losses losses;
  for (int i = 0; i < 30; ++i) losses.emplace_back(static_cast<double>(i));
  metrics::Losses means = metrics::smoothed(losses);
  EXPECT_FALSE(means[8]);
  EXPECT_DOUBLE_EQ(means[9].value(), 4.5);
  EXPECT_DOUBLE_EQ(means[29].value(), 24.5);
  losses[12].reset();
  means = metrics::smoothed(losses);
  EXPECT_TRUE(means[11]);
  for (int i = 12; i <= 21; ++i) EXPECT_FALSE(means[static_cast<std::size_t>(i)]) << i;
  EXPECT_TRUE(means[22]);
  EXPECT_EQ(metrics::smoothed(metrics::Losses(9, 1.0)), metrics::Losses(9)) << "fewer than ten have no mean";
}

// 8 - t/4, smoothed 8 - (t - 4.5)/4 <= 5 from t = 16.5 on: at step 17, the eighteenth.
TEST(StepsTo, CountsStepsWarmUpIncluded) {
  const auto losses = metrics::loss_curves({falling("ddp", 1, 8.0, 0.25, 40)});
  const auto& curves = losses.curves;
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_EQ(metrics::steps_to(curves[0], 5.0), (metrics::StepRange{18, 18}));
  EXPECT_DOUBLE_EQ(curves[0].step_s, 0.25) << "the median excludes warm-up steps";
  EXPECT_DOUBLE_EQ(curves[0].lowest().value(), 8.0 - 0.25 * (39 - 4.5));
  EXPECT_FALSE(metrics::steps_to(curves[0], -1.0));
}

TEST(StepsTo, IsARangeOverTheRepeatsAndNoneUnlessAllReachedIt) {
  metrics::Configuration both = falling("ddp", 1, 8.0, 0.25, 40);
  repeat(both, 6, 0.25);
  const auto losses = metrics::loss_curves({both});
  const auto& curves = losses.curves;
  EXPECT_EQ(metrics::steps_to(curves[0], 5.0), (metrics::StepRange{18, 24}));
  const double first_alone = 8.0 - 0.25 * (38 - 4.5);
  EXPECT_FALSE(metrics::steps_to(curves[0], first_alone));
  EXPECT_DOUBLE_EQ(curves[0].lowest().value(), 8.0 - 0.25 * (33 - 4.5));
}

TEST(DefaultTarget, IsTheLowestThatEveryConfigurationReached) {
  const std::vector<metrics::Configuration> two = {falling("ddp", 1, 8.0, 0.25, 40), falling("ddp", 2, 8.0, 0.125, 40)};
  const auto losses = metrics::loss_curves(two);
  const auto& curves = losses.curves;
  EXPECT_DOUBLE_EQ(metrics::default_target(curves).value(), 8.0 - 0.125 * 34.5);
  for (const metrics::LossCurve& curve : curves)
    EXPECT_TRUE(metrics::steps_to(curve, *metrics::default_target(curves)));
  EXPECT_FALSE(metrics::default_target({}));
}

TEST(LossCurves, AreThoseOfConfigurationsWithLosses) {
  metrics::Configuration none = falling("ddp", 4, 8.0, 0.25, 40), few = falling("dp", 4, 8.0, 0.25, 9);
  for (auto* steps : {&none.warmup, &none.measured})
    for (metrics::RunStep& step : *steps) step.has_loss = false;
  EXPECT_TRUE(metrics::loss_curves({none, few}).curves.empty());
}

// With a constant number of samples, 100 steps of 64 are 25 steps of 256 and 400 steps of 16. Without an effect of the
// batch there are 100 steps.
TEST(StepsAt, LieBetweenConstantSamplesAndConstantSteps) {
  EXPECT_EQ(metrics::steps_at({100, 110}, 64, 256), (metrics::StepRange{25, 110}));
  EXPECT_EQ(metrics::steps_at({100, 110}, 64, 16), (metrics::StepRange{100, 440}));
  EXPECT_EQ(metrics::steps_at({100, 110}, 64, 64), (metrics::StepRange{100, 110}));
  EXPECT_EQ(metrics::steps_at({101, 101}, 64, 256), (metrics::StepRange{26, 101})) << "steps are rounded up";
  EXPECT_EQ(metrics::steps_at({18, 20}, 64, 256), (metrics::StepRange{10, 20})) << "the first mean takes ten";
  const std::int64_t large = std::int64_t{1} << 53;
  EXPECT_EQ(metrics::steps_at({3000, 4000}, large, large / 2), (metrics::StepRange{3000, 8000}))
      << "4000 · 2^53 is beyond an int64";
}

// McCandlish et al. 2018, equation 2.11: steps S = S_min (1 + B_noise / B), samples E = S B. The truth at any batch
// must lie within the bounds from any other.
TEST(StepsAt, HoldTheTruthOfANoiseScale) {
  const auto truth = [](double samples_a_step) {
    return static_cast<std::int64_t>(std::ceil(1e6 * (1 + 512 / samples_a_step)));
  };
  for (const std::int64_t measured : {32, 128, 1024, 8192})
    for (const std::int64_t other : {16, 64, 512, 4096, 65536}) {
      const std::int64_t steps = truth(static_cast<double>(measured)), wanted = truth(static_cast<double>(other));
      const metrics::StepRange range = metrics::steps_at({steps, steps}, measured, other);
      EXPECT_LE(range.low, wanted) << measured << " to " << other;
      EXPECT_GE(range.high, wanted) << measured << " to " << other;
    }
}

// N = 1 (batch 32) takes 18 steps to 5, N = 2 (batch 64) falls as fast a step: 18 as well. Epochs: 640 / batch steps.
TEST(TimeToTargetTable, HasMeasuredRowsAndBoundsFromTheNearestBatch) {
  const auto losses = metrics::loss_curves({falling("ddp", 1, 8.0, 0.25, 40), falling("ddp", 2, 8.0, 0.25, 40)});
  const std::vector<TrainingTime> questions = {asked("ddp", 2), asked("ddp", 8), asked("dp", 8)};
  const Table table = time_to_target_table(options_of(), losses, questions, 5.0);
  ASSERT_EQ(table.rows.size(), 4U) << "N = 2 was measured";
  for (const Row& row : table.rows) ASSERT_EQ(row.size(), table.columns.size());
  EXPECT_EQ(words(table.rows[0][basis]), "measured");
  EXPECT_EQ(whole(table.rows[0][steps_low]), 18);
  EXPECT_DOUBLE_EQ(real(table.rows[0][epochs_low]), 18.0 / 20.0);
  EXPECT_DOUBLE_EQ(real(table.rows[0][low_s]), 18 * 0.25);
  EXPECT_EQ(whole(table.rows[1][batch]), 64);
  EXPECT_DOUBLE_EQ(real(table.rows[1][epochs_high]), 18.0 / 10.0);
  const Row& bounds = table.rows[2];
  EXPECT_EQ(words(bounds[basis]), "bounds from N = 2");
  EXPECT_EQ(whole(bounds[batch]), 256);
  EXPECT_EQ(whole(bounds[steps_low]), 10) << "18 · 64 samples are 5 steps of 256, but one mean takes 10";
  EXPECT_EQ(whole(bounds[steps_high]), 18);
  EXPECT_DOUBLE_EQ(real(bounds[low_s]), 10 * 0.4);
  EXPECT_DOUBLE_EQ(real(bounds[high_s]), 18 * 0.75);
  EXPECT_EQ(words(table.rows[3][basis]), "not known") << "no loss of dp was measured";
  for (const int column : {steps_low, steps_high, low_s, high_s}) EXPECT_EQ(table.rows[3][column], Cell());
  EXPECT_NE(words(table.rows[3][note]).find("measure.steps"), std::string::npos);
}

// N = 1 starts at a loss of 8 and N = 2 at 5, so a target of 5 is reached by N = 2 at the start.
TEST(TimeToTargetTable, HasNoBoundsFromATargetThatTheFirstStepsReach) {
  const auto losses = metrics::loss_curves({falling("ddp", 1, 8.0, 0.25, 40), falling("ddp", 2, 5.0, 0.25, 40)});
  const std::vector<TrainingTime> questions = {asked("ddp", 4)};
  const Table table = time_to_target_table(options_of(), losses, questions, 5.0);
  EXPECT_EQ(words(table.rows.at(2)[basis]), "bounds from N = 1") << "N = 2 is nearer, but it started at the target";
  EXPECT_EQ(whole(table.rows.at(2)[steps_low]), 10);
  EXPECT_NE(table.note.find("a noisy loss may reach the target earlier"), std::string::npos) << table.note;
  const Table none = time_to_target_table(options_of(), losses, questions, 7.5);
  EXPECT_EQ(words(none.rows.at(2)[basis]), "not known");
  EXPECT_EQ(none.rows.at(2)[steps_low], Cell());
  EXPECT_TRUE(words(none.rows.at(2)[note]).ends_with("give a lower loss")) << words(none.rows.at(2)[note]);
}

// Steps 40 and 41 are the warm-up of the copy without the wrapper. They continue from 39 and would have the lowest
// loss.
TEST(LossCurves, EndWithTheLastMeasuredStep) {
  metrics::Configuration made = falling("ddp", 1, 8.0, 0.25, 42);
  for (int i = 0; i < 2; ++i) {
    made.warmup.push_back(made.measured.back());
    made.warmup.back().kind = "warmup";
    made.measured.pop_back();
  }
  const auto losses = metrics::loss_curves({made});
  ASSERT_EQ(losses.curves.size(), 1U);
  EXPECT_EQ(losses.curves[0].repeats.at(0).size(), 40U);
  EXPECT_DOUBLE_EQ(losses.curves[0].lowest().value(), 8.0 - 0.25 * (39 - 4.5));
}

// Like fit::load: the workload with the most (strategy, N) pairs; ties go to the one measured first. Another batch is
// another workload.
TEST(LossCurves, AreOfTheModelPrecisionAndDeviceThatPredictionsRestOn) {
  std::vector<metrics::Configuration> all;
  const auto add = [&](std::int64_t workers, const char* model, const char* precision, const char* device,
                       std::int64_t measurement) -> metrics::Configuration& {
    all.push_back(falling("ddp", workers, 8.0, 0.25, 40, measurement));
    all.back().model = model;
    all.back().precision = precision;
    all.back().device = device;
    return all.back();
  };
  add(1, "a", "float32", "cpu", 7);
  add(2, "a", "float32", "cpu", 8);
  add(1, "b", "float32", "cpu", 3);
  add(2, "b", "float32", "cpu", 4);
  add(4, "b", "float32", "cpu", 9).batch_per_worker = 8;
  add(1, "b", "bfloat16", "cpu", 1);
  add(1, "b", "float32", "cuda", 2);
  const auto models_of = [](const metrics::LossCurves& losses) {
    std::vector<std::int64_t> workers;
    for (const metrics::LossCurve& curve : losses.curves) workers.push_back(curve.workers);
    return workers;
  };
  const metrics::LossCurves losses = metrics::loss_curves(all);
  EXPECT_EQ(metrics::of_models_workload(all), &all[2]) << "b was measured first, at as many N";
  EXPECT_EQ(models_of(losses), (std::vector<std::int64_t>{1, 2, 4})) << "b at any batch";
  EXPECT_EQ(losses.left_out, 4);
  const Table table = time_to_target_table(options_of(), losses, {}, 5.0);
  EXPECT_EQ(table.rows.size(), 3U);
  EXPECT_NE(table.note.find("Left out: 4 measured configurations"), std::string::npos) << table.note;
  all[3].failed = {4};
  EXPECT_EQ(metrics::of_models_workload(all), &all[0]) << "failed measurements do not count";
  EXPECT_EQ(metrics::loss_curves({all[0]}).left_out, 0);
  EXPECT_EQ(metrics::of_models_workload({}), nullptr);
}

TEST(TimeToTargetTable, InventsNothing) {
  const auto losses = metrics::loss_curves({falling("ddp", 1, 8.0, 0.25, 40)});
  const std::vector<TrainingTime> questions = {asked("ddp", 8, 0.0)};
  const Table far = time_to_target_table(options_of(), losses, questions, -3.0);
  EXPECT_EQ(far.rows[0][steps_low], Cell());
  EXPECT_TRUE(words(far.rows[0][note]).starts_with("0 of 1 repeats reached the target;")) << words(far.rows[0][note]);
  EXPECT_EQ(words(far.rows[1][basis]), "not known");
  const Table untimed = time_to_target_table(options_of(), losses, questions, {});
  EXPECT_EQ(untimed.rows[1][low_s], Cell()) << "no predicted step";
  EXPECT_NE(untimed.rows[1][steps_low], Cell());
  const Table trivial = time_to_target_table(options_of(), losses, {}, 7.5);
  EXPECT_NE(words(trivial.rows[0][note]).find("not below the initial loss"), std::string::npos);
  const Table none = time_to_target_table(options_of(), {}, questions, 5.0);
  EXPECT_TRUE(none.rows.empty());
  EXPECT_NE(none.empty.find("measure.steps"), std::string::npos);
}

}  // namespace
}  // namespace ddpprof::report
