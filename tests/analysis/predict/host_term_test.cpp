// The time in which devices wait for the host's launches: in measured and predicted steps, and under changes. The truth
// is synthetic: of each phase, a share has no kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/fit/measured/measured.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/predictor.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;
using testing::HasSubstr;
using testing::StartsWith;

Truth job(double idle_share) {
  Truth truth;
  truth.nccl = true;
  truth.idle_share = idle_share;
  truth.copy_back_s_per_byte = 0.0;
  return truth;
}

PredictOptions asking(std::vector<std::int64_t> workers, const std::vector<std::string>& change = {}) {
  PredictOptions options;
  options.workers = std::move(workers);
  options.what_if = parse_what_if(change);
  return options;
}

const Prediction& at(const PredictResult& result, std::int64_t workers) {
  for (const Prediction& row : result.predictions)
    if (row.world_size == workers) return row;
  throw std::logic_error("not predicted");
}

double gain(const PredictResult& result, std::int64_t workers, Term term) {
  for (const WhyRow& row : result.why)
    if (row.workers == workers && !row.changed)
      for (const TermGain& one : row.gains)
        if (one.term == term) return one.share;
  return -1.0;
}

// Traces without phases, whose communication was not recognised: the kernels are compute all the same.
TEST(HostTerm, ImportedStepsWithoutPhasesAndCommunicationKeepTheirCompute) {
  TemporaryDatabase database("host-no-communication");
  synthetic::add_ddp(database.get(), job(0.3), {2}, 1);
  database.get().sql().exec(
      "UPDATE measurement SET kind = 'import'; DELETE FROM phase; DELETE FROM collective; UPDATE step SET forward_ns = "
      "0, backward_ns = 0, optimizer_ns = 0, communication_ns = 0, overlapped_ns = 0, exposed_ns = 0, skew_ns = 0, "
      "compute_ns = duration_ns * 8 / 10, device_idle_ns = duration_ns / 10");
  const PredictResult result = predict_all(database.get(), asking({2}));
  const Prediction& row = at(result, 2);
  EXPECT_NEAR(row.compute_s / row.step_s, 0.8, 1e-3);
  EXPECT_NEAR(row.host_s / row.step_s, 0.1, 1e-3);
  EXPECT_NEAR(row.other_s / row.step_s, 0.1, 1e-3);
}

// Imports of GPU jobs state a core for each rank. They do not show that threads follow the cores.
TEST(HostTerm, ImportedStepsOfEveryMeasuredNAreUsedAsMeasured) {
  const Truth truth = job(0.3);
  TemporaryDatabase database("host-measured");
  synthetic::add_ddp(database.get(), truth, {2, 4, 8}, 1);
  database.get().sql().exec(
      "UPDATE measurement SET kind = 'import', device = 'cuda', cores = world_size, threads_per_rank = 1, "
      "oversubscription = 1");
  const PredictResult result = predict_all(database.get(), asking({2, 4, 8}));
  for (const std::int64_t workers : {2, 4, 8}) EXPECT_THAT(at(result, workers).note, StartsWith("measured")) << workers;
}

// The device is idle for more than half of the step. Whether communication fits in there is not known.
TEST(HostTerm, TheIntervalContainsThatCommunicationRunsWhileTheDeviceWaits) {
  const Truth truth = job(0.6);
  TemporaryDatabase database("host-free");
  synthetic::add_ddp(database.get(), truth, {2}, 1);
  const PredictResult result = predict_all(database.get(), asking({2, 8}));
  const Prediction &measured = at(result, 2), &more = at(result, 8);
  EXPECT_GT(more.step_s, measured.step_s);
  EXPECT_GT(more.host_s, more.step_s - measured.step_s);
  EXPECT_LE(more.step_low_s, measured.step_s * (1.0 + 1e-9));
}

TEST(HostTerm, MeasuredAndPredictedTermsHaveOneMeaning) {
  const Truth truth = job(0.6);
  TemporaryDatabase all("host-all"), some("host-some");
  synthetic::add_ddp(all.get(), truth, {1, 2, 4, 8}, 1);
  synthetic::add_ddp(some.get(), truth, {2, 4}, 1);
  const PredictResult measured = predict_all(all.get(), asking({1, 2, 3, 4, 8})),
                      predicted = predict_all(some.get(), asking({1, 2, 3, 4, 8}));
  const double kernels_s = (truth.forward_s + truth.ready_s.back() + truth.optimizer_s) * (1.0 - truth.idle_share);
  for (const std::int64_t workers : {1, 2, 3, 4, 8}) {
    for (const PredictResult* one : {&measured, &predicted}) {
      const Prediction& row = at(*one, workers);
      EXPECT_NEAR(row.compute_s / kernels_s, 1.0, 0.02) << workers;
      EXPECT_NEAR(row.compute_s + row.exposed_s + row.skew_s + row.host_s + row.other_s, row.step_s, 1e-9 * row.step_s);
    }
    EXPECT_NEAR(at(predicted, workers).host_s / at(measured, workers).host_s, 1.0, 0.03) << workers;
    EXPECT_NEAR(at(predicted, workers).exposed_s, at(measured, workers).exposed_s, 0.02 * at(measured, 8).step_s)
        << workers;
  }
  // Communication between kernels is exposed, not waiting for launches.
  EXPECT_LT(at(measured, 8).host_s, at(measured, 1).host_s);
  EXPECT_NEAR(at(measured, 1).host_s, truth.idle_share * kernels_s / (1.0 - truth.idle_share), 0.01 * kernels_s);
}

TEST(HostTerm, BindsAJobWhoseDeviceMostlyWaits) {
  TemporaryDatabase slow("host-slow"), fast("host-fast");
  synthetic::add_ddp(slow.get(), job(0.77), {1, 2}, 1);
  synthetic::add_ddp(fast.get(), job(0.02), {1, 2}, 1);
  const PredictResult host_bound = predict_all(slow.get(), asking({1, 2, 4})),
                      device_bound = predict_all(fast.get(), asking({1, 2, 4}));
  for (const std::int64_t workers : {1, 2, 4}) {
    EXPECT_EQ(at(host_bound, workers).bound, "host") << workers;
    EXPECT_GT(gain(host_bound, workers, Term::host), 0.5) << workers;
    EXPECT_LT(gain(host_bound, workers, Term::compute), 0.02) << "faster kernels would only wait longer";
    EXPECT_EQ(at(device_bound, workers).bound, "compute") << workers;
    EXPECT_LT(gain(device_bound, workers, Term::host), 0.03) << workers;
  }
  const auto notes = [](const PredictResult& result) {
    return std::ranges::count(result.notes, std::string("host_bound"), &Note::code);
  };
  EXPECT_EQ(notes(host_bound), 1);
  EXPECT_EQ(notes(device_bound), 0);
  for (const Note& note : host_bound.notes)
    if (note.code == "host_bound") {
      EXPECT_THAT(note.message, HasSubstr("ddp at N = 1: host-bound"));
      EXPECT_THAT(note.advice, HasSubstr("CUDA graphs, torch.compile"));
    }
}

TEST(HostTerm, LaunchesTwiceAsFastHelpAHostBoundJobAlone) {
  const auto speedup = [](double idle_share, const std::string& change) {
    TemporaryDatabase database("host-change");
    synthetic::add_ddp(database.get(), job(idle_share), {1, 2}, 1);
    return predict_all(database.get(), asking({1}, {change})).what_ifs.at(0);
  };
  const WhatIfRow bound = speedup(0.77, "host=2x"), little = speedup(0.02, "host=2x");
  // A free host would leave the kernels, 23 % of the passes; half the launches leave about half of them.
  EXPECT_GT(bound.speedup, 1.7);
  EXPECT_LT(bound.speedup, 2.0);
  EXPECT_LT(little.speedup, 1.03);
  EXPECT_GT(little.speedup, 1.0);
  // Faster kernels do not help a job that waits for its host, but they help the other.
  EXPECT_LT(speedup(0.77, "compute=2x").speedup, 1.02);
  EXPECT_GT(speedup(0.02, "compute=2x").speedup, 1.5);
}

TEST(HostTerm, HidesTheGrowthOfTheBatch) {
  const auto doubled = [](double idle_share) {
    TemporaryDatabase database("host-batch");
    synthetic::add_ddp(database.get(), job(idle_share), {1, 2}, 1);
    return predict_all(database.get(), asking({1}, {"batch_per_worker=64"})).what_ifs.at(0);
  };
  const WhatIfRow hidden = doubled(0.77), seen = doubled(0.0);
  EXPECT_GT(hidden.speedup, 1.9) << "twice the samples in about the same time";
  EXPECT_GE(hidden.changed_step_s, hidden.step_s);
  EXPECT_GT(hidden.changed_high_s, 1.02 * hidden.changed_step_s) << "how much is hidden is uncertain";
  EXPECT_LT(seen.speedup, 1.1);
  // 90 times the batch: the device sets the pace. Its kernels take 23 % of the passes.
  TemporaryDatabase database("host-large-batch");
  const Truth truth = job(0.77);
  synthetic::add_ddp(database.get(), truth, {1, 2}, 1);
  const WhatIfRow large = predict_all(database.get(), asking({1}, {"batch_per_worker=2880"})).what_ifs.at(0);
  const double kernels_s = 90.0 * 0.23 * (truth.forward_s + truth.ready_s.back());
  EXPECT_NEAR(large.changed_step_s / (kernels_s + 90.0 * truth.data_s + truth.optimizer_s), 1.0, 0.03);
}

TEST(HostTerm, IsNotInAJobOnCpus) {
  Truth truth = job(0.0);
  truth.nccl = false;
  TemporaryDatabase database("host-cpu");
  synthetic::add_ddp(database.get(), truth, {1, 2}, 1);
  const PredictResult result = predict_all(database.get(), asking({1, 2, 4}, {"host=2x"}));
  for (const Prediction& row : result.predictions) EXPECT_EQ(row.host_s, 0.0);
  for (const WhyRow& row : result.why)
    for (const TermGain& one : row.gains) EXPECT_NE(one.term, Term::host);
  EXPECT_TRUE(result.what_ifs.empty());
  const auto refused = std::ranges::find(result.notes, std::string("what_if_none"), &Note::code);
  ASSERT_NE(refused, result.notes.end());
  EXPECT_THAT(refused->message, HasSubstr("no device waited for the host's launches"));
}

// The law of measured batches is of whole phases: it includes what the host hides.
TEST(HostTerm, MeasuredBatchesAreNotHiddenTwice) {
  const Truth truth = job(0.5);
  Truth larger = truth;
  larger.batch = 128;
  larger.data_s *= 4.0;
  larger.forward_s *= 1.6;
  for (double& ready_s : larger.ready_s) ready_s *= 1.6;
  larger.idle_share = 0.1;
  TemporaryDatabase database("host-batches");
  synthetic::add_ddp(database.get(), truth, {1, 2}, 1);
  synthetic::add_ddp(database.get(), larger, {1}, 2);
  const WhatIfRow row = predict_all(database.get(), asking({1}, {"batch_per_worker=128"})).what_ifs.at(0);
  EXPECT_NEAR(row.changed_step_s / synthetic::true_step_s(larger, 1), 1.0, 0.02);
}

// Half of the batch on a device that hardly waits: its kernels do not vanish, and faster launches do not slow it down.
TEST(HostTerm, ASmallerBatchKeepsItsKernels) {
  const Truth truth = job(0.05);
  Truth smaller = truth;
  smaller.batch = 16;
  smaller.data_s *= 0.5;
  smaller.forward_s *= 0.55;
  for (double& ready_s : smaller.ready_s) ready_s *= 0.55;
  TemporaryDatabase database("host-smaller-batch");
  synthetic::add_ddp(database.get(), truth, {1, 2}, 1);
  synthetic::add_ddp(database.get(), smaller, {1}, 2);
  const auto changed = [&](const std::vector<std::string>& change) {
    return predict_all(database.get(), asking({1}, change)).what_ifs.at(0).changed_step_s;
  };
  const double half_s = changed({"batch_per_worker=16"});
  EXPECT_NEAR(half_s / synthetic::true_step_s(smaller, 1), 1.0, 0.02);
  EXPECT_LE(changed({"batch_per_worker=16", "host=1.05x"}), half_s);
  EXPECT_LT(changed({"batch_per_worker=16", "compute=2x"}), 0.8 * half_s);
}

}  // namespace
}  // namespace ddpprof::fit
