// Compute over the batch: laws whose truth is known, data that cannot be, and what predictions make of them.
#include "analysis/fit/batch_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <SQLiteCpp/Database.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "analysis/fit/predict.hpp"
#include "simulator/stats/random.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;
using testing::HasSubstr;

using Law = std::function<double(double)>;
constexpr double normal_90 = 1.6448536269514722;

// Beside the noise that a run knows of itself, runs differ by 2 %.
std::vector<BatchPoint> points_of(const Law& law, const std::vector<std::int64_t>& batches, double noise,
                                  std::uint64_t seed, const std::vector<std::int64_t>& workers = {1}) {
  stats::Random random(seed);
  const double scatter = noise > 0.0 ? std::hypot(noise, 0.02) : 0.0;
  std::vector<BatchPoint> points;
  for (const std::int64_t n : workers) {
    for (const std::int64_t batch : batches) {
      const double level = 1.0 + 0.3 * static_cast<double>(n - 1), off = std::exp(scatter * random.normal());
      points.push_back({n, batch, level * law(static_cast<double>(batch)) * off, noise, n});
    }
  }
  return points;
}

double line_s(double batch) { return 5e-3 + 0.2e-3 * batch; }
double proportional_s(double batch) { return 0.4e-3 * batch; }

TEST(BatchFit, ALinesPartsLieInTheirIntervalsNineTimesInTen) {
  constexpr int seeds = 400;
  int fixed = 0, sample = 0, lines = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const BatchFit fit = fit_batches(points_of(line_s, {8, 16, 32, 64, 128}, 0.04, seed));
    ASSERT_TRUE(fit.usable) << fit.status;
    if (!fit.laws.front().line) continue;
    ++lines;
    const BatchParameters found = fit.parameters();
    fixed += std::abs(found.values[0] - 5e-3) <= normal_90 * std::sqrt(found.covariance[0]);
    sample += std::abs(found.values[1] - 0.2e-3) <= normal_90 * std::sqrt(found.covariance[3]);
  }
  EXPECT_GE(lines, seeds * 95 / 100);
  EXPECT_NEAR(static_cast<double>(fixed) / lines, 0.9, 0.05);
  EXPECT_NEAR(static_cast<double>(sample) / lines, 0.9, 0.05);
  std::cout << "90 % intervals cover the fixed part " << fixed << ", the part a sample " << sample << " times of "
            << lines << '\n';
}

TEST(BatchFit, WithoutNoiseALineIsFoundAsItIs) {
  const BatchFit fit = fit_batches(points_of(line_s, {8, 32, 128}, 0.0, 1, {1, 2}));
  ASSERT_TRUE(fit.usable) << fit.status;
  const BatchParameters found = fit.parameters();
  ASSERT_EQ(found.names, (std::vector<std::string>{"compute_fixed", "compute_sample"}));
  EXPECT_NEAR(found.values[0] / 5e-3, 1.0, 0.02);
  EXPECT_NEAR(found.values[1] / 0.2e-3, 1.0, 0.02);
  for (const double batch : {8.0, 20.0, 128.0, 512.0})
    EXPECT_NEAR(fit.ratio(32.0, batch), line_s(batch) / line_s(32.0), 0.02 * line_s(batch) / line_s(32.0)) << batch;
  EXPECT_THAT(fit.status, HasSubstr("a sample at N = 1, fitted to batches 8, 32, 128: off by"));
  EXPECT_THAT(fit.status, HasSubstr("a power of the batch by"));
}

// The share of seeds in which the law's 90 % interval, drawn as predictions draw it, holds the true ratio.
double covered(const Law& law, const std::vector<std::int64_t>& batches, double from, double to) {
  constexpr int seeds = 200, draws = 200;
  const double truth = law(to) / law(from);
  int inside = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const BatchFit fit = fit_batches(points_of(law, batches, 0.04, seed));
    EXPECT_TRUE(fit.usable) << fit.status;
    stats::Random random(seed);
    std::vector<double> ratios;
    for (int i = 0; i < draws; ++i) {
      const BatchLaw& one = random.uniform() < fit.laws[0].weight ? fit.laws[0] : fit.laws[1];
      std::vector<double> normals(one.solution.x.size());
      for (double& normal : normals) normal = random.normal();
      const double own = draw(one.problem, one.solution, normals).front();
      ratios.push_back(one.growth(to, own) / one.growth(from, own) *
                       std::exp(batch_exponent_sd * fit.beyond(to) * random.normal()));
    }
    std::sort(ratios.begin(), ratios.end());
    inside += ratios[draws / 20] <= truth && truth <= ratios[draws - 1 - draws / 20];
  }
  std::cout << "the ratio of " << to << " to " << from << ": covered " << inside << " times of " << seeds << '\n';
  return static_cast<double>(inside) / seeds;
}

TEST(BatchFit, ItsIntervalCoversBetweenTheBatchesAndBeyond) {
  EXPECT_GE(covered(line_s, {8, 16, 32, 64, 128}, 8.0, 100.0), 0.83);
  EXPECT_GE(covered(line_s, {8, 16, 32, 64, 128}, 32.0, 512.0), 0.85);
  EXPECT_GE(covered(proportional_s, {8, 16, 32, 64, 128}, 8.0, 100.0), 0.83);
  EXPECT_GE(covered(proportional_s, {8, 16, 32, 64, 128}, 32.0, 512.0), 0.85);
  EXPECT_GE(covered(line_s, {16, 64}, 16.0, 32.0), 0.83);
  EXPECT_GE(covered(proportional_s, {16, 64}, 16.0, 64.0), 0.83);
}

TEST(BatchFit, TwoBatchesTellAFixedPart) {
  const BatchFit fit = fit_batches(points_of(line_s, {16, 64}, 0.0, 1));
  ASSERT_TRUE(fit.usable) << fit.status;
  EXPECT_TRUE(fit.laws.front().line) << fit.status;
  EXPECT_NEAR(fit.ratio(16.0, 64.0), line_s(64.0) / line_s(16.0), 0.05);
  EXPECT_THAT(fit.status, HasSubstr("two batches tell no law from another: the batch to the power of"));
}

TEST(BatchFit, WhatFollowsTheBatchInProportionIsSaidTo) {
  const BatchFit fit = fit_batches(points_of(proportional_s, {16, 64}, 0.0, 1));
  ASSERT_TRUE(fit.usable) << fit.status;
  EXPECT_FALSE(fit.laws.front().line) << fit.status;
  EXPECT_NEAR(fit.ratio(16.0, 64.0), 4.0, 0.02);
  EXPECT_THAT(fit.status, HasSubstr("the batch to the power of 1 ±"));
}

// A little more than in proportion, as where a cache no longer holds a large batch: no fixed part below 0 is made up.
TEST(BatchFit, MoreThanInProportionIsAPowerAboveOne) {
  const Law law = [](double batch) { return 1e-3 * std::pow(batch, 1.15); };
  const BatchFit fit = fit_batches(points_of(law, {8, 16, 32, 64, 128}, 0.0, 1));
  ASSERT_TRUE(fit.usable) << fit.status;
  EXPECT_FALSE(fit.laws.front().line) << fit.status;
  EXPECT_NEAR(fit.parameters().values[0], 1.15, 0.02);
}

TEST(BatchFit, WhatNoMachineDoesIsRefusedWithASentence) {
  const BatchFit less = fit_batches({{1, 32, 0.1, 0.01, 1}, {1, 64, 0.07, 0.01, 1}});
  EXPECT_FALSE(less.usable);
  EXPECT_EQ(less.status,
            "not usable: forward and backward took 100 ms with a batch of 32 and 70 ms with 64 at N = 1: more samples "
            "cannot take less");
  const BatchFit more = fit_batches({{2, 32, 0.1, 0.01, 2}, {2, 64, 0.6, 0.01, 2}});
  EXPECT_FALSE(more.usable);
  EXPECT_THAT(more.status, HasSubstr("and 600 ms with 64 at N = 2: more than the square of the samples"));
  // Within the noise it is no contradiction; the fixed part takes it all.
  const BatchFit noisy = fit_batches({{1, 32, 0.1, 0.05, 1}, {1, 64, 0.095, 0.05, 1}});
  EXPECT_TRUE(noisy.usable) << noisy.status;
  EXPECT_GE(noisy.ratio(32.0, 64.0), 1.0);
}

TEST(BatchFit, OneBatchIsNoFit) {
  const BatchFit fit = fit_batches({{1, 32, 0.1, 0.01, 1}, {2, 64, 0.2, 0.01, 2}});
  EXPECT_FALSE(fit.usable);
  EXPECT_TRUE(fit.status.empty());
}

// The truth at another batch: forward and backward are a fixed part and a part a sample.
Truth at_batch(Truth truth, std::int64_t batch, double fixed_share) {
  const double samples = static_cast<double>(batch) / static_cast<double>(truth.batch);
  const double longer = fixed_share + (1.0 - fixed_share) * samples;
  truth.batch = batch;
  truth.data_s *= samples;
  truth.forward_s *= longer;
  for (double& ready_s : truth.ready_s) ready_s *= longer;
  return truth;
}

Truth gpus() {
  Truth truth;
  truth.nccl = true;
  truth.alpha_s = 1e-3;
  return truth;
}

PredictOptions asking(std::int64_t batch, std::vector<std::int64_t> workers = {8}) {
  PredictOptions options;
  options.workers = std::move(workers);
  options.what_if = parse_what_if(std::vector{"batch_per_worker=" + std::to_string(batch)});
  return options;
}

constexpr double fixed_share = 0.4;

double width(const WhatIfRow& row) { return std::log(row.changed_high_s / row.changed_low_s); }

std::vector<std::string> messages(const std::vector<Note>& notes, const std::string& code) {
  std::vector<std::string> found;
  for (const Note& note : notes)
    if (note.code == code) found.push_back(note.message);
  return found;
}

TEST(BatchWhatIf, IsWhatARunWithThatBatchTakes) {
  const Truth truth = gpus();
  TemporaryDatabase several("batches-several"), one("batches-one");
  synthetic::add_ddp(several.get(), truth, {1, 2, 4}, 1);
  synthetic::add_ddp(several.get(), at_batch(truth, 128, fixed_share), {1, 2}, 2);
  synthetic::add_ddp(one.get(), truth, {1, 2, 4}, 1);
  for (const std::int64_t batch : {16, 64, 128, 512}) {
    const PredictResult result = predict_all(several.get(), asking(batch, {4, 8, 32}));
    ASSERT_EQ(result.what_ifs.size(), 3U);
    for (const WhatIfRow& row : result.what_ifs) {
      const double truth_s = synthetic::true_step_s(at_batch(truth, batch, fixed_share), row.workers);
      EXPECT_LE(row.changed_low_s, truth_s * 1.005) << batch << ' ' << row.workers;
      EXPECT_GE(row.changed_high_s, truth_s * 0.995) << batch << ' ' << row.workers;
      EXPECT_NEAR(row.changed_step_s / truth_s, 1.0, batch == 512 ? 0.15 : 0.06) << batch << ' ' << row.workers;
      EXPECT_NEAR(row.step_s / synthetic::true_step_s(truth, row.workers), 1.0, 0.02) << row.workers;
    }
    if (batch < truth.batch) continue;  // below both: what was assumed without was narrow, and wrong
    const double before = width(predict_all(one.get(), asking(batch, {8})).what_ifs.at(0));
    const double after = width(predict_all(several.get(), asking(batch, {8})).what_ifs.at(0));
    EXPECT_LT(after, before) << batch;
  }
  // Between the batches, at them, and further and further away.
  const auto width_at = [&](std::int64_t batch) {
    return width(predict_all(several.get(), asking(batch)).what_ifs.at(0));
  };
  EXPECT_LT(width_at(64), width_at(512));
  EXPECT_LT(width_at(512), width_at(4096));
}

TEST(BatchWhatIf, TheOtherBatchTellsNothingElse) {
  const Truth truth = gpus();
  TemporaryDatabase several("batches-else"), one("batches-alone");
  synthetic::add_ddp(several.get(), at_batch(truth, 128, fixed_share), {1, 2}, 2);
  synthetic::add_ddp(several.get(), truth, {1, 2, 4}, 1);
  synthetic::add_ddp(one.get(), truth, {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {4, 8};
  const PredictResult with = predict_all(several.get(), options), without = predict_all(one.get(), options);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_DOUBLE_EQ(with.predictions[i].step_s, without.predictions[i].step_s);
    EXPECT_DOUBLE_EQ(with.predictions[i].step_low_s, without.predictions[i].step_low_s);
    EXPECT_DOUBLE_EQ(with.predictions[i].step_high_s, without.predictions[i].step_high_s);
  }
  EXPECT_THAT(with.predictions[1].note, HasSubstr("for 32 samples a worker and micro-batch"));
  EXPECT_TRUE(messages(fit_database(several.get()).notes, "fit_data_doubtful").empty());
}

TEST(BatchWhatIf, TheFitRowHasTheLaw) {
  const Truth truth = gpus();
  TemporaryDatabase database("batches-row");
  for (const std::int64_t batch : {8, 32, 128})
    synthetic::add_ddp(database.get(), at_batch(truth, batch, fixed_share), {1, 2}, 1);
  for (const store::FitRow& row : fit_database(database.get()).fits) {
    if (row.name != "compute") continue;
    EXPECT_THAT(row.status, HasSubstr("over the batch: "));
    EXPECT_THAT(row.status, HasSubstr("fitted to batches 8, 32, 128"));
    const auto parameters = nlohmann::json::parse(row.parameters);
    // 0.04 + 0.08 s at 32 samples.
    EXPECT_NEAR(parameters.at("compute_fixed").at("value").get<double>(), fixed_share * 0.12, 0.003);
    EXPECT_NEAR(parameters.at("compute_sample").at("value").get<double>(), (1.0 - fixed_share) * 0.12 / 32.0, 1e-4);
    EXPECT_EQ(parameters.at("compute_sample").at("state"), "fitted");
    const auto covariance = nlohmann::json::parse(row.covariance);
    ASSERT_EQ(covariance.size(), parameters.size());
    const double error = parameters.at("compute_fixed").at("standard_error").get<double>();
    EXPECT_NEAR(covariance[covariance.size() - 2][covariance.size() - 2].get<double>(), error * error, 1e-12);
  }
}

TEST(BatchWhatIf, WithOneBatchItSaysWhatIsAssumedAndWhatToMeasure) {
  const Truth truth = gpus();
  TemporaryDatabase before("batches-before"), after("batches-after");
  synthetic::add_ddp(before.get(), truth, {1, 2, 4}, 1);
  const PredictResult first = predict_all(before.get(), asking(128));
  EXPECT_THAT(messages(first.notes, "batch_assumed"),
              testing::ElementsAre("ddp: that compute follows the batch in proportion is assumed (to the power of 1 ± "
                                   "0.1): all of it was measured with a batch of 32"));
  ASSERT_TRUE(first.next_batch.contains("ddp"));
  const NextMeasurement said = first.next_batch.at("ddp");
  EXPECT_EQ(said.batch_per_worker, 128);
  EXPECT_EQ(said.workers, 1);
  EXPECT_LT(said.then, 0.7 * said.now);
  EXPECT_THAT(messages(first.notes, "measure_next"),
              testing::Contains(HasSubstr("ddp at N = 8 with 128 samples a worker: ddp at N = 1 with that batch")));
  // Measured as advised, the interval is about as wide as was said, and nothing is assumed any more.
  synthetic::add_ddp(after.get(), truth, {1, 2, 4}, 1);
  synthetic::add_ddp(after.get(), at_batch(truth, 128, 0.0), {1}, 2);
  const PredictResult second = predict_all(after.get(), asking(128));
  const double then = std::expm1(0.5 * width(second.what_ifs.at(0)));
  EXPECT_NEAR(std::expm1(0.5 * width(first.what_ifs.at(0))) / said.now, 1.0, 0.3);
  EXPECT_LT(then, 1.6 * said.then);
  EXPECT_GT(then, 0.5 * said.then);
  EXPECT_TRUE(messages(second.notes, "batch_assumed").empty());
  EXPECT_TRUE(second.next_batch.empty());
  // Without a change of the batch nothing is said of it.
  PredictOptions options;
  options.workers = {8};
  EXPECT_TRUE(messages(predict_all(before.get(), options).notes, "batch_assumed").empty());
}

TEST(BatchWhatIf, RefusedBatchesLeaveThePredictionAsWithOne) {
  const Truth truth = gpus();
  TemporaryDatabase odd("batches-odd"), one("batches-odd-one");
  synthetic::add_ddp(odd.get(), truth, {1, 2, 4}, 1);
  Truth quicker = truth;
  quicker.batch = 64;
  quicker.speed = 2.0;
  synthetic::add_ddp(odd.get(), quicker, {1}, 2);
  synthetic::add_ddp(one.get(), truth, {1, 2, 4}, 1);
  EXPECT_DOUBLE_EQ(predict_all(odd.get(), asking(64)).what_ifs.at(0).changed_step_s,
                   predict_all(one.get(), asking(64)).what_ifs.at(0).changed_step_s);
  EXPECT_THAT(messages(fit_database(odd.get()).notes, "fit_doubtful"),
              testing::Contains(HasSubstr("ddp compute over the batch: not usable: forward and backward took")));
  EXPECT_THAT(messages(predict_all(odd.get(), asking(64)).notes, "batch_assumed"),
              testing::ElementsAre(HasSubstr("the batches that were measured are not usable: ")));
}

// One global batch over 1, 2 and 4 GPUs: no N has two batches, and each GPU computes alone.
TEST(BatchWhatIf, GpusOfOneGlobalBatchTellTheLawToo) {
  const Truth truth = gpus();
  TemporaryDatabase database("batches-global");
  synthetic::add_ddp(database.get(), at_batch(truth, 32, fixed_share), {1}, 1);
  synthetic::add_ddp(database.get(), at_batch(truth, 16, fixed_share), {2}, 2);
  synthetic::add_ddp(database.get(), at_batch(truth, 8, fixed_share), {4}, 3);
  for (const store::FitRow& row : fit_database(database.get()).fits) {
    if (row.name == "compute") {
      EXPECT_THAT(row.status, HasSubstr("a sample on GPUs of their own, fitted to batches"));
    }
  }
  // Ranks that share cores differ in more than the batch.
  TemporaryDatabase cpu("batches-global-cpu");
  Truth shared;
  shared.cores = 2;
  synthetic::add_ddp(cpu.get(), at_batch(shared, 32, fixed_share), {1}, 1);
  synthetic::add_ddp(cpu.get(), at_batch(shared, 16, fixed_share), {2}, 2);
  EXPECT_THAT(messages(fit_database(cpu.get()).notes, "fit_data_doubtful"),
              testing::Contains(HasSubstr("left out: synthetic, batch 16 a worker")));
}

TEST(BatchWhatIf, DataParallelHasItsOwnLaw) {
  const Truth truth;
  TemporaryDatabase database("batches-dp");
  synthetic::add_dp(database.get(), truth, {1, 2, 4}, 1);
  synthetic::add_dp(database.get(), at_batch(truth, 128, fixed_share), {1}, 2);
  const PredictResult result = predict_all(database.get(), asking(64, {1}));
  const double truth_s = synthetic::true_dp_step_s(at_batch(truth, 64, fixed_share), 1);
  EXPECT_NEAR(result.what_ifs.at(0).changed_step_s / truth_s, 1.0, 0.04);
}

}  // namespace
}  // namespace ddpprof::fit
