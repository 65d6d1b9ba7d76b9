// Predictions over links that nccl-tests has measured, beside steps played out over those links.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;

Truth cluster() {
  Truth truth;
  truth.nccl = true;
  truth.alpha_s = 50e-6;
  truth.beta_s_per_byte = 4e-9;
  return truth;
}

// Times of a plain ring, 1 KiB to 64 MiB.
collective::Curve curve_of(const Truth& truth, std::int64_t ranks, double smallest = 1 << 10, std::int64_t hosts = 0) {
  std::vector<collective::SizeTime> times;
  for (double bytes = smallest; bytes <= 64 << 20; bytes *= 2.0) {
    const auto n = static_cast<double>(ranks);
    times.push_back({bytes, 2.0 * (n - 1.0) * (truth.alpha_s + bytes / n * truth.beta_s_per_byte)});
  }
  return {ranks, times, hosts};
}

PredictOptions options_with(std::vector<collective::Curve> curves) {
  PredictOptions options;
  options.workers = {2, 8, 16, 64};
  options.all_reduce = std::move(curves);
  return options;
}

TEST(MeasuredCurve, PredictsManyRanksFromOneAndTheLogOfAnotherN) {
  const Truth truth = cluster();
  TemporaryDatabase database("curve-one");
  synthetic::add_ddp(database.get(), truth, {1}, 1);
  EXPECT_THROW(predict_all(database.get(), options_with({})), NotSupported);  // one rank says nothing of links
  const PredictResult result = predict_all(database.get(), options_with({curve_of(truth, 16)}));
  ASSERT_EQ(result.predictions.size(), 4U);
  for (const Prediction& row : result.predictions) {
    const double expected_s = synthetic::true_step_s(truth, row.world_size);
    EXPECT_NEAR(row.step_s / expected_s, 1.0, 0.02) << row.world_size;
    EXPECT_LE(row.step_low_s, expected_s) << row.world_size;
    EXPECT_GE(row.step_high_s, expected_s) << row.world_size;
    EXPECT_GT(row.step_high_s / row.step_low_s, 1.02) << row.world_size;  // a log of another N is not the truth
  }
}

TEST(MeasuredCurve, OfSeveralLogsTheNearestIsUsed) {
  const Truth truth = cluster();
  Truth slow = truth;
  slow.beta_s_per_byte *= 3.0;  // as of two nodes with a slower link
  TemporaryDatabase database("curve-several");
  synthetic::add_ddp(database.get(), truth, {1}, 1);
  const PredictResult result = predict_all(database.get(), options_with({curve_of(truth, 2), curve_of(slow, 64)}));
  EXPECT_NEAR(result.predictions[0].step_s / synthetic::true_step_s(truth, 2), 1.0, 0.02);
  EXPECT_NEAR(result.predictions[3].step_s / synthetic::true_step_s(slow, 64), 1.0, 0.02);
}

TEST(MeasuredCurve, ChangesToTheLinkAreOfTheCurve) {
  const Truth truth = cluster();
  TemporaryDatabase database("curve-change");
  synthetic::add_ddp(database.get(), truth, {1}, 1);
  PredictOptions options = options_with({curve_of(truth, 16)});
  const std::pair<const char*, double> changes[] = {{"bandwidth=4x", 1e-9}, {"bandwidth=1GB/s", 1e-9}};
  for (const auto& [item, beta] : changes) {
    options.what_if = parse_what_if(std::vector<std::string>{item});
    Truth changed = truth;
    changed.beta_s_per_byte = beta;
    for (const WhatIfRow& row : predict_all(database.get(), options).what_ifs)
      EXPECT_NEAR(row.changed_step_s / synthetic::true_step_s(changed, row.workers), 1.0, 0.02) << item << row.workers;
  }
  options.what_if = parse_what_if(std::vector<std::string>{"latency=2ms"});
  Truth changed = truth;
  changed.alpha_s = 2e-3;
  for (const WhatIfRow& row : predict_all(database.get(), options).what_ifs)
    EXPECT_NEAR(row.changed_step_s / synthetic::true_step_s(changed, row.workers), 1.0, 0.02) << row.workers;
}

TEST(MeasuredCurve, AChangeAppliesToTheLogUsedAtThatN) {
  const Truth truth = cluster();
  Truth slow = truth;
  slow.beta_s_per_byte = 16e-9;
  slow.alpha_s = 200e-6;
  TemporaryDatabase database("curve-order");
  synthetic::add_ddp(database.get(), truth, {1}, 1);
  for (const bool turned : {false, true}) {
    std::vector<collective::Curve> curves = {curve_of(truth, 8), curve_of(slow, 64)};
    if (turned) std::swap(curves[0], curves[1]);
    PredictOptions options = options_with(curves);
    options.workers = {64};
    options.what_if = parse_what_if(std::vector<std::string>{"bandwidth=62.5MB/s", "latency=200us"});  // as it is
    const PredictResult result = predict_all(database.get(), options);
    ASSERT_EQ(result.what_ifs.size(), 1U);
    EXPECT_NEAR(result.what_ifs[0].speedup, 1.0, 1e-6) << turned;
  }
}

TEST(MeasuredCurve, OfLargeSizesAloneHasAHopTimeToo) {
  const Truth truth = cluster();
  TemporaryDatabase database("curve-large");
  synthetic::add_ddp(database.get(), truth, {1}, 1);
  PredictOptions options = options_with({curve_of(truth, 16, 1 << 20)});
  options.what_if = parse_what_if(std::vector<std::string>{"latency=2ms"});
  Truth changed = truth;
  changed.alpha_s = 2e-3;
  const PredictResult result = predict_all(database.get(), options);
  EXPECT_EQ(result.what_ifs.size(), 4U);
  for (const WhatIfRow& row : result.what_ifs)
    EXPECT_NEAR(row.changed_step_s / synthetic::true_step_s(changed, row.workers), 1.0, 0.02) << row.workers;
}

TEST(MeasuredCurve, WithALevelTopOrOneSizeAcceptsFactorsOnly) {
  TemporaryDatabase database("curve-level");
  synthetic::add_ddp(database.get(), cluster(), {1}, 1);
  // The largest was measured quicker than the one before: both count as their mean.
  const std::vector<collective::SizeTime> level = {{1 << 20, 1e-3}, {8 << 20, 7e-3}, {16 << 20, 6.9e-3}};
  PredictOptions options = options_with({collective::Curve(16, level)});
  for (const char* item : {"bandwidth=2x", "bandwidth=10GB/s", "latency=0.5x"}) {
    options.what_if = parse_what_if(std::vector<std::string>{item});
    const PredictResult result = predict_all(database.get(), options);
    ASSERT_EQ(result.what_ifs.size(), 4U) << item;
    for (const WhatIfRow& row : result.what_ifs) EXPECT_GE(row.speedup, 1.0) << item;
  }
  const std::vector<collective::SizeTime> one = {{8 << 20, 7e-3}};
  options = options_with({collective::Curve(16, one)});
  options.what_if = parse_what_if(std::vector<std::string>{"latency=5us"});
  const PredictResult refused = predict_all(database.get(), options);
  EXPECT_TRUE(refused.what_ifs.empty());
  EXPECT_THAT(refused.notes, testing::Contains(testing::Field(&Note::message, testing::HasSubstr("Give a factor"))));
}

TEST(MeasuredCurve, IsNamedInNotes) {
  TemporaryDatabase database("curve-notes");
  synthetic::add_ddp(database.get(), cluster(), {1, 2, 4}, 1);
  synthetic::add_dp(database.get(), cluster(), {1, 2}, 1);
  Truth log = cluster();
  log.beta_s_per_byte /= 4.0;
  log.alpha_s /= 4.0;
  const std::vector<Note> notes = predict_all(database.get(), options_with({curve_of(log, 16)})).notes;
  for (const char* text : {"as measured with 16 ranks, 1 KiB to 64 MiB", "the log may be from other machines",
                           "has no times of DataParallel's copies"})
    EXPECT_THAT(notes, testing::Contains(testing::Field(&Note::message, testing::HasSubstr(text))));
}

// Two lanes and the log of another library: the cost is the curve's all the same.
TEST(MeasuredCurve, WorksForGlooToo) {
  Truth truth = cluster();
  truth.nccl = false;
  truth.own_hosts = true;
  TemporaryDatabase database("curve-gloo");
  synthetic::add_ddp(database.get(), truth, {1}, 1);
  PredictOptions options = options_with({curve_of(truth, 16)});
  options.gpus_per_node = 1;
  for (const Prediction& row : predict_all(database.get(), options).predictions)
    EXPECT_NEAR(row.step_s / synthetic::true_step_s(truth, row.world_size), 1.0, 0.05) << row.world_size;
}

TEST(MeasuredCurve, AStepsOwnAllReducesCorrectTheLog) {
  const Truth truth = cluster();
  TemporaryDatabase database("curve-step");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  Truth log = truth;
  log.alpha_s /= 2.0;
  log.beta_s_per_byte /= 2.0;  // beside compute everything takes twice as long
  const auto models = std::make_shared<const Models>(fit_models(database.get(), {curve_of(log, 16)}));
  Machine machine;
  machine.workers = 64;
  const FormFit& picked = models->all_reduce.picked();
  EXPECT_NEAR(picked.byte_s(picked.solution.values, machine) / truth.beta_s_per_byte, 1.0, 0.05);
  EXPECT_THAT(models->all_reduce.warnings, testing::Contains(testing::HasSubstr("other machines")));
  const PredictResult result = predict_all(database.get(), options_with({curve_of(log, 16)}));
  EXPECT_NEAR(result.predictions[3].step_s / synthetic::true_step_s(truth, 64), 1.0, 0.03);
}

// Steps of up to 4 ranks were measured inside one host with fast links. Their all-reduces are 10 to 40 times as fast as
// those of the log of 8 hosts, and this says nothing of the links between hosts.
TEST(MeasuredCurve, StepsInsideOneHostDoNotCorrectALogAcrossHosts) {
  const Truth across = cluster();
  Truth inside = across;
  inside.alpha_s = 5e-6;
  inside.beta_s_per_byte = 0.1e-9;
  TemporaryDatabase database("curve-inside");
  synthetic::add_ddp(database.get(), inside, {1, 2, 4}, 1);
  const PredictResult result = predict_all(database.get(), options_with({curve_of(across, 16, 1 << 10, 8)}));
  ASSERT_EQ(result.predictions.size(), 4U);
  EXPECT_NEAR(result.predictions[0].step_s / synthetic::true_step_s(inside, 2), 1.0, 0.02) << "measured";
  for (std::size_t i = 1; i < 4; ++i) {
    const Prediction& row = result.predictions[i];
    const double expected_s = synthetic::true_step_s(across, row.world_size);
    EXPECT_NEAR(row.step_s / expected_s, 1.0, 0.03) << row.world_size;
    EXPECT_LE(row.step_low_s, expected_s) << row.world_size;
    EXPECT_GE(row.step_high_s, expected_s) << row.world_size;
  }
  EXPECT_THAT(result.notes, testing::Contains(testing::Field(&Note::message, testing::HasSubstr("inside one host"))));
  EXPECT_THAT(result.notes,
              testing::Not(testing::Contains(testing::Field(&Note::message, testing::HasSubstr("other machines")))));
}

// A log of one host and a log across hosts: the steps inside the host correct the first one only.
TEST(MeasuredCurve, EachLogIsCorrectedByStepsOnItsOwnLinks) {
  const Truth across = cluster();
  Truth inside = across, log_inside = across;
  inside.beta_s_per_byte = 1e-9;
  inside.alpha_s = 20e-6;
  log_inside.beta_s_per_byte = 0.5e-9;  // beside compute everything takes twice as long
  log_inside.alpha_s = 10e-6;
  TemporaryDatabase database("curve-two-places");
  synthetic::add_ddp(database.get(), inside, {1, 2}, 1);
  PredictOptions options = options_with({curve_of(log_inside, 4, 1 << 10, 1), curve_of(across, 64, 1 << 10, 8)});
  options.workers = {4, 64};
  const PredictResult result = predict_all(database.get(), options);
  ASSERT_EQ(result.predictions.size(), 2U);
  EXPECT_NEAR(result.predictions[0].step_s / synthetic::true_step_s(inside, 4), 1.0, 0.03);
  EXPECT_NEAR(result.predictions[1].step_s / synthetic::true_step_s(across, 64), 1.0, 0.03);
}

// Logs of 8 ranks on one host and on two: the placement decides, not the order of the logs.
TEST(MeasuredCurve, ALogOfTheSamePlacementComesFirst) {
  const Truth across = cluster();
  Truth inside = across;
  inside.alpha_s = 5e-6;
  inside.beta_s_per_byte = 0.1e-9;
  TemporaryDatabase database("curve-placement");
  synthetic::add_ddp(database.get(), across, {1}, 1);
  for (const bool turned : {false, true})
    for (const std::int64_t per_host : {8, 4}) {
      std::vector<collective::Curve> curves = {curve_of(across, 8, 1 << 10, 2), curve_of(inside, 8, 1 << 10, 1)};
      if (turned) std::swap(curves[0], curves[1]);
      PredictOptions options = options_with(curves);
      options.workers = {8};
      options.gpus_per_node = per_host;
      const PredictResult result = predict_all(database.get(), options);
      const Truth& truth = per_host == 8 ? inside : across;
      EXPECT_NEAR(result.predictions.at(0).step_s / synthetic::true_step_s(truth, 8), 1.0, 0.02) << per_host << turned;
    }
}

// A log with a sweep of NCCL_ALGO: two runs of 16 ranks.
TEST(MeasuredCurve, RunsOfEqualRanksAreJoinedWithAWarning) {
  const Truth truth = cluster();
  Truth slow = truth;
  slow.beta_s_per_byte *= 3.0;
  slow.alpha_s *= 3.0;
  TemporaryDatabase database("curve-runs");
  synthetic::add_ddp(database.get(), truth, {1}, 1);
  const auto predicted = [&](const std::vector<collective::Curve>& curves) {
    return predict_all(database.get(), options_with(curves));
  };
  const PredictResult first = predicted({curve_of(truth, 16), curve_of(slow, 16)}),
                      turned = predicted({curve_of(slow, 16), curve_of(truth, 16)}),
                      alike = predicted({curve_of(truth, 16), curve_of(truth, 16)});
  EXPECT_DOUBLE_EQ(first.predictions[2].step_s, turned.predictions[2].step_s);
  for (const Truth& one : {truth, slow}) {
    EXPECT_LE(first.predictions[2].step_low_s, synthetic::true_step_s(one, 16));
    EXPECT_GE(first.predictions[2].step_high_s, synthetic::true_step_s(one, 16));
  }
  EXPECT_LT(alike.predictions[1].step_high_s, first.predictions[1].step_high_s);
  const auto warning = testing::Contains(testing::Field(&Note::message, testing::HasSubstr("differ by up to 3 times")));
  EXPECT_THAT(first.notes, warning);
  EXPECT_THAT(alike.notes, testing::Not(warning));
}

// A log from 256 MiB on (nccl-tests -b 256M), as users measure the bandwidth. The job's messages are far below.
TEST(MeasuredCurve, MessagesBelowTheSizesOfALogAreExtrapolatedWithAWarning) {
  const Truth truth = cluster();
  TemporaryDatabase database("curve-below");
  synthetic::add_ddp(database.get(), truth, {1}, 1);
  std::vector<collective::SizeTime> times;
  for (const double bytes : {0x1p28, 0x1p29, 0x1p30})
    times.push_back({bytes, 2.0 * 15.0 * (truth.alpha_s + bytes / 16.0 * truth.beta_s_per_byte)});
  PredictOptions options = options_with({collective::Curve(16, times)});
  options.workers = {16};
  const PredictResult exact = predict_all(database.get(), options);
  const double expected_s = synthetic::true_step_s(truth, 16);
  EXPECT_NEAR(exact.predictions.at(0).step_s / expected_s, 1.0, 0.05);
  EXPECT_THAT(exact.notes, testing::Contains(testing::Field(&Note::message, testing::HasSubstr("begins at 256 MiB"))));
  // Half a percent of noise at 256 MiB hides the latency.
  for (const double noise : {0.995, 1.005}) {
    std::vector<collective::SizeTime> noisy = times;
    noisy.front().time_s *= noise;
    options.all_reduce = {collective::Curve(16, noisy)};
    const Prediction row = predict_all(database.get(), options).predictions.at(0);
    EXPECT_LE(row.step_low_s, expected_s) << noise;
    EXPECT_GE(row.step_high_s, expected_s) << noise;
  }
  const PredictResult whole = predict_all(database.get(), options_with({curve_of(truth, 16)}));
  EXPECT_THAT(whole.notes,
              testing::Not(testing::Contains(testing::Field(&Note::message, testing::HasSubstr("are extrapolated")))));
}

// Steps across hosts correct a log across hosts, as before.
TEST(MeasuredCurve, StepsAcrossHostsCorrectALogAcrossHosts) {
  Truth truth = cluster();
  truth.own_hosts = true;
  Truth log = truth;
  log.alpha_s /= 2.0;
  log.beta_s_per_byte /= 2.0;
  TemporaryDatabase database("curve-across");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  PredictOptions options = options_with({curve_of(log, 16, 1 << 10, 16)});
  options.gpus_per_node = 1;
  const PredictResult result = predict_all(database.get(), options);
  EXPECT_NEAR(result.predictions[3].step_s / synthetic::true_step_s(truth, 64), 1.0, 0.03);
}

TEST(MeasuredCurve, OfOneRankIsRefused) {
  TemporaryDatabase database("curve-refused");
  synthetic::add_ddp(database.get(), cluster(), {1}, 1);
  const std::vector<collective::SizeTime> times = {{1024.0, 1e-5}};
  EXPECT_THROW(predict_all(database.get(), options_with({collective::Curve(1, times)})), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::fit
