// Predictions at another batch, from databases with several batches and with one, beside runs of that batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/predict/predict.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;
using testing::HasSubstr;

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
  options.gpus_per_node = 32;
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

TEST(BatchWhatIf, TheOtherBatchChangesNothingElse) {
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
  for (const Prediction& row : with.predictions)
    EXPECT_THAT(row.note, HasSubstr("for a micro-batch of 32 samples per worker")) << row.world_size;
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

TEST(BatchWhatIf, WithOneBatchNotesNameTheAssumptionAndTheMeasurement) {
  const Truth truth = gpus();
  TemporaryDatabase before("batches-before"), after("batches-after");
  synthetic::add_ddp(before.get(), truth, {1, 2, 4}, 1);
  const PredictResult first = predict_all(before.get(), asking(128));
  EXPECT_THAT(messages(first.notes, "batch_assumed"),
              testing::ElementsAre("ddp: compute is assumed proportional to the batch (exponent 1 ± 0.1): the only "
                                   "measured batch is 32"));
  ASSERT_TRUE(first.next_batch.contains("ddp"));
  const NextMeasurement said = first.next_batch.at("ddp");
  EXPECT_EQ(said.batch_per_worker, 128);
  EXPECT_EQ(said.workers, 1);
  EXPECT_LT(said.then, 0.7 * said.now);
  EXPECT_THAT(
      messages(first.notes, "measure_next"),
      testing::Contains(HasSubstr(
          "ddp at N = 8 with a micro-batch of 128 samples per worker: a measurement of ddp at N = 1 with this batch")));
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

// The interval at N = 64 is that of the communication: a batch of 33 instead of 32 adds next to nothing to it.
TEST(BatchWhatIf, AMeasurementThatDoesNotNarrowTheIntervalIsNotAdvised) {
  TemporaryDatabase database("batches-no-gain");
  synthetic::add_ddp(database.get(), gpus(), {1, 2, 4}, 1);
  const PredictResult result = predict_all(database.get(), asking(33, {64}));
  ASSERT_EQ(result.what_ifs.size(), 1U);
  EXPECT_TRUE(result.next_batch.empty()) << result.next_batch.at("ddp").then / result.next_batch.at("ddp").now;
}

TEST(BatchWhatIf, WithRefusedBatchesThePredictionEqualsThatOfOneBatch) {
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
              testing::ElementsAre(HasSubstr("the fit of the measured batches is not usable: ")));
}

// One global batch over 1, 2 and 4 GPUs: no N has two batches, and each GPU computes alone.
TEST(BatchWhatIf, GpusOfOneGlobalBatchGiveTheLawToo) {
  const Truth truth = gpus();
  TemporaryDatabase database("batches-global");
  synthetic::add_ddp(database.get(), at_batch(truth, 32, fixed_share), {1}, 1);
  synthetic::add_ddp(database.get(), at_batch(truth, 16, fixed_share), {2}, 2);
  synthetic::add_ddp(database.get(), at_batch(truth, 8, fixed_share), {4}, 3);
  for (const store::FitRow& row : fit_database(database.get()).fits) {
    if (row.name == "compute") {
      EXPECT_THAT(row.status, HasSubstr("per sample on GPUs of their own, fitted to batches"));
    }
  }
  // Ranks that share cores differ in more than the batch.
  TemporaryDatabase cpu("batches-global-cpu");
  Truth shared;
  shared.cores = 2;
  synthetic::add_ddp(cpu.get(), at_batch(shared, 32, fixed_share), {1}, 1);
  synthetic::add_ddp(cpu.get(), at_batch(shared, 16, fixed_share), {2}, 2);
  EXPECT_THAT(messages(fit_database(cpu.get()).notes, "fit_data_doubtful"),
              testing::Contains(HasSubstr("not used: synthetic, batch 16 per worker")));
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

// The device waits 3 ms for the host before the forward: of a step, or of each micro-batch. The steps do not show which.
TEST(AccumulationWhatIf, WaitsBeforeTheForwardMayOccurOnceAStep) {
  Truth truth = gpus();
  truth.idle_share = 0.02;
  truth.copy_back_s_per_byte = 0.0;
  TemporaryDatabase database("accumulation-waits");
  synthetic::add_ddp(database.get(), truth, {2}, 1);
  database.get().sql().exec(
      "UPDATE phase SET start_ns = start_ns + 3000000, duration_ns = duration_ns - 3000000 WHERE name = 'forward'; "
      "UPDATE step SET forward_ns = forward_ns - 3000000, compute_ns = compute_ns - 3000000, "
      "device_idle_ns = device_idle_ns + 3000000");
  PredictOptions options;
  options.workers = {2};
  options.what_if = parse_what_if(std::vector<std::string>{"accumulation=4"});
  const PredictResult result = predict_all(database.get(), options);
  ASSERT_EQ(result.what_ifs.size(), 1U);
  const WhatIfRow& row = result.what_ifs.front();
  const double each_s =
      synthetic::true_step_s(truth, 2) + 3.0 * (truth.data_s + truth.forward_s + truth.ready_s.back());
  const double once_s = each_s - 3.0 * 0.003;
  EXPECT_LE(row.changed_low_s, 1.001 * once_s);
  EXPECT_GE(row.changed_high_s, 0.999 * each_s);
  EXPECT_NEAR(row.changed_step_s, 0.5 * (once_s + each_s), 0.002 * each_s);
  EXPECT_LT(row.speedup_low, row.speedup);
  EXPECT_GT(row.speedup_high, row.speedup);
}

}  // namespace
}  // namespace ddpprof::fit
