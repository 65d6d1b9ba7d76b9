// Predictions from runs whose truth is known, at worker counts that were not measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <SQLiteCpp/Statement.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/predict/predict.hpp"
#include "simulator/stats/summary.hpp"
#include "tests/analysis/fit/synthetic.hpp"
#include "tests/tiers.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;

PredictOptions options_for(std::vector<std::int64_t> workers) {
  PredictOptions options;
  options.workers = std::move(workers);
  return options;
}

const store::FitRow& fit_named(const FitSummary& summary, const std::string& name) {
  for (const store::FitRow& row : summary.fits) {
    if (row.name == name) return row;
  }
  throw std::out_of_range("no fit named " + name);
}

double parameter(const store::FitRow& row, const std::string& name) {
  return nlohmann::json::parse(row.parameters).at(name).at("value").get<double>();
}

TEST(Predict, ARingsTruthIsFoundFromOneTwoAndFour) {
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("ring");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  const FitSummary summary = fit_database(database.get());
  const store::FitRow& fit = fit_named(summary, "all_reduce");
  EXPECT_TRUE(fit.usable) << fit.status;
  EXPECT_EQ(fit.form, "ring");
  EXPECT_NEAR(parameter(fit, "latency") / truth.alpha_s, 1.0, 0.02) << fit.status;
  EXPECT_NEAR(parameter(fit, "inverse_bandwidth") / truth.beta_s_per_byte, 1.0, 0.02);
  PredictOptions options = options_for({8, 16, 32, 64});
  options.gpus_per_node = 64;
  for (const Prediction& row : predict_all(database.get(), options).predictions) {
    const double expected_s = synthetic::true_step_s(truth, row.world_size);
    EXPECT_NEAR(row.step_s / expected_s, 1.0, 0.03) << row.world_size;
    EXPECT_LE(row.step_low_s, expected_s) << row.world_size;
    EXPECT_GE(row.step_high_s, expected_s) << row.world_size;
  }
}

// If NCCL reported its regimes, they are fitted, and predictions name the regimes of the model's buckets (1, 8 and 4
// MiB). This needs regimes of different cost: here small messages take three times the ring's time of large ones.
// Otherwise one ring is fitted.
TEST(Predict, NcclsRegimesAreFittedAndNamedByBucketIfTheyDiffer) {
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("regimes");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4, 8}, 1);
  database.get().sql().exec(
      "UPDATE collective SET algorithm = 'RING', protocol = CASE WHEN bytes < 2000000 THEN 'LL' ELSE 'SIMPLE' END");
  EXPECT_EQ(fit_named(fit_database(database.get()), "all_reduce").form, "ring");
  database.get().sql().exec("UPDATE collective SET end_ns = start_ns + 3 * (end_ns - start_ns) WHERE protocol = 'LL'");
  const FitSummary summary = fit_database(database.get());
  const store::FitRow& fit = fit_named(summary, "all_reduce");
  EXPECT_TRUE(fit.usable) << fit.status;
  EXPECT_EQ(fit.form, "nccl-regimes") << fit.status;
  EXPECT_THAT(fit.status, testing::HasSubstr("RING/SIMPLE ("));
  const std::vector<Prediction> rows = predict_all(database.get(), options_for({16, 32})).predictions;
  EXPECT_THAT(rows[0].note,
              testing::HasSubstr("NCCL: RING/LL for buckets of 1 MiB, RING/SIMPLE for buckets of 4 MiB to 8 MiB"));
  // NCCL's own estimate keeps to LL up to larger messages, the more ranks there are.
  EXPECT_THAT(rows[1].note,
              testing::HasSubstr("NCCL: RING/LL for buckets of 1 MiB to 4 MiB, RING/SIMPLE for buckets of 8 MiB"));
}

TEST(Predict, CrowdedCoresSlowComputeAndLoopback) {
  Truth truth;
  truth.cores = 2;
  TemporaryDatabase database("crowded");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  const auto rows = predict_all(database.get(), options_for({8, 16})).predictions;
  for (const Prediction& row : rows) {
    const double expected_s = synthetic::true_step_s(truth, row.world_size);
    EXPECT_NEAR(row.step_s / expected_s, 1.0, 0.1) << row.world_size << " " << row.note;
  }
  EXPECT_THAT(rows[0].note, testing::HasSubstr("8 ranks share 2 cores"));
  // With cores of its own each rank computes as fast as alone.
  PredictOptions dedicated = options_for({8});
  dedicated.dedicated = true;
  Truth alone = truth;
  alone.cores = 1024;
  EXPECT_NEAR(predict_all(database.get(), dedicated).predictions[0].step_s / synthetic::true_step_s(alone, 8), 1.0,
              0.1);
}

TEST(Predict, MeasuredWorkerCountsGiveTheirMeasuredMedian) {
  Truth truth;
  truth.noise = 0.03;
  truth.nccl = true;
  TemporaryDatabase database("measured");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 5);
  SQLite::Statement query(database.get().sql(),
                          "SELECT m.world_size, st.step, AVG(st.duration_ns) FROM step st JOIN shard sh ON sh.id = "
                          "st.shard_id JOIN measurement m ON m.id = sh.measurement_id GROUP BY m.world_size, st.step");
  std::map<std::int64_t, std::vector<double>> step_s;
  while (query.executeStep()) {
    step_s[query.getColumn(0).getInt64()].push_back(query.getColumn(2).getDouble() * 1e-9);
  }
  for (const Prediction& row : predict_all(database.get(), options_for({1, 2, 4})).predictions) {
    const double measured_s = stats::median(step_s.at(row.world_size));
    EXPECT_NEAR(row.step_s / measured_s, 1.0, 1e-9) << row.world_size;
    EXPECT_LE(row.step_low_s, measured_s);
    EXPECT_GE(row.step_high_s, measured_s);
  }
}

TEST(Predict, OneRankCommunicatesNothing) {
  TemporaryDatabase database("one");
  synthetic::add_ddp(database.get(), {}, {1, 2}, 1);
  const Prediction row = predict_all(database.get(), options_for({1})).predictions[0];
  EXPECT_EQ(row.communication_s, 0.0);
  EXPECT_EQ(row.exposed_s, 0.0);
  EXPECT_EQ(row.skew_s, 0.0);
  EXPECT_DOUBLE_EQ(row.efficiency, 1.0);
  EXPECT_EQ(row.bound, "compute");
}

TEST(Predict, TermsAddUpToTheStep) {
  Truth truth;
  truth.noise = 0.05;
  TemporaryDatabase database("terms");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 3);
  synthetic::add_dp(database.get(), truth, {1, 2, 4}, 3);
  const auto rows = predict_all(database.get(), options_for({1, 2, 3, 4, 8, 64})).predictions;
  ASSERT_EQ(rows.size(), 12u);
  for (const Prediction& row : rows) {
    EXPECT_NEAR(row.compute_s + row.exposed_s + row.skew_s + row.other_s, row.step_s, 1e-9 * row.step_s);
    EXPECT_NEAR(row.latency_s + row.bandwidth_s, row.communication_s, 1e-9 * row.step_s);
    EXPECT_LE(row.exposed_s, row.communication_s + 1e-9) << row.strategy << row.world_size;
    EXPECT_LE(row.step_low_s, row.step_s);
    EXPECT_GE(row.step_high_s, row.step_s);
    EXPECT_NEAR(row.throughput * row.step_s, static_cast<double>(row.world_size * truth.batch), 1e-6);
  }
}

TEST(Predict, SkewGrowsWithTheRanksAndOnlyWithNoise) {
  Truth truth;
  truth.noise = 0.05;
  truth.nccl = true;
  TemporaryDatabase noisy("noisy"), quiet("quiet");
  synthetic::add_ddp(noisy.get(), truth, {1, 2, 4}, 3);
  truth.noise = 0.0;
  synthetic::add_ddp(quiet.get(), truth, {1, 2, 4}, 3);
  const auto with = predict_all(noisy.get(), options_for({8, 64})).predictions;
  EXPECT_GT(with[0].skew_s, 0.0);
  EXPECT_GT(with[1].skew_s, with[0].skew_s);
  for (const Prediction& row : predict_all(quiet.get(), options_for({8, 64})).predictions)
    EXPECT_NEAR(row.skew_s, 0.0, 1e-9);
}

TEST(Predict, IntervalsWidenAndCoverTheTruth) {
  // Noisy runs at N = 1, 2, 4; the truth at N = 8 and 32 must lie inside the 90 % interval at least 85 times in 100.
  Truth truth;
  truth.noise = 0.03;
  truth.nccl = true;
  truth.steps = 15;
  PredictOptions options = options_for({8, 32});
  options.draws = 200;
  options.gpus_per_node = 32;
  const std::vector<double> expected_s = {synthetic::true_step_s(truth, 8), synthetic::true_step_s(truth, 32)};
  std::vector<int> covered = {0, 0};
  std::vector<double> width = {0.0, 0.0};
  const int runs = test::long_tests() ? 200 : 40;
  for (int run = 0; run < runs; ++run) {
    TemporaryDatabase database("coverage");
    synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1000 + static_cast<std::uint64_t>(run));
    const auto rows = predict_all(database.get(), options).predictions;
    for (std::size_t i = 0; i < 2; ++i) {
      covered[i] += rows[i].step_low_s <= expected_s[i] && expected_s[i] <= rows[i].step_high_s;
      width[i] += (rows[i].step_high_s - rows[i].step_low_s) / rows[i].step_s / runs;
    }
  }
  RecordProperty("covered_at_8", covered[0]);
  RecordProperty("covered_at_32", covered[1]);
  std::printf("covered: N = 8 %d, N = 32 %d of %d; mean width %.1f %% and %.1f %%\n", covered[0], covered[1], runs,
              100 * width[0], 100 * width[1]);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_GE(covered[i], runs * 85 / 100);
  EXPECT_GT(width[1], width[0]);
  EXPECT_LT(width[1], 0.5) << "an interval this wide would cover anything";
}

TEST(Predict, AProfileWithoutBucketsBorrowsThem) {
  // At N = 1 nothing says which buckets there are; with dedicated cores that profile carries every prediction.
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("borrow");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  const std::string of_one =
      "(SELECT st.id FROM step st JOIN shard sh ON sh.id = st.shard_id JOIN measurement m ON m.id = sh.measurement_id "
      "WHERE m.world_size = 1)";
  database.get().sql().exec("DELETE FROM collective WHERE step_id IN " + of_one);
  database.get().sql().exec("DELETE FROM parameter");
  PredictOptions options = options_for({8, 64});
  options.dedicated = true;
  for (const Prediction& row : predict_all(database.get(), options).predictions) {
    EXPECT_NEAR(row.step_s / synthetic::true_step_s(truth, row.world_size), 1.0, 0.05) << row.note;
  }
}

TEST(Predict, RanksThatTakeTurnsWaitForEachOther) {
  // Ranks compute equally long but start apart, so only the collectives show the lateness: 30 ms for a median rank.
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("turns");
  synthetic::add_ddp(database.get(), truth, {1, 4}, 1);
  const std::string of_four =
      "step_id IN (SELECT st.id FROM step st JOIN shard sh ON sh.id = st.shard_id JOIN measurement m ON m.id = "
      "sh.measurement_id WHERE m.world_size = 4)";
  database.get().sql().exec(
      "UPDATE collective SET skew_ns = 30000000, end_ns = end_ns + 30000000 WHERE bucket = 2 AND " + of_four);
  database.get().sql().exec(
      "UPDATE step SET duration_ns = duration_ns + 30000000, backward_ns = backward_ns + 30000000 WHERE id IN (SELECT "
      "step_id FROM collective WHERE " +
      of_four + ")");
  database.get().sql().exec("UPDATE phase SET duration_ns = duration_ns + 30000000 WHERE name = 'backward' AND " +
                            of_four);
  const auto rows = predict_all(database.get(), options_for({1, 8})).predictions;
  EXPECT_NEAR(rows[0].step_s / synthetic::true_step_s(truth, 1), 1.0, 1e-6) << "what N = 4 waits is not N = 1's";
  EXPECT_GT(rows[1].skew_s, 0.03);
}

TEST(Predict, DataParallelsCopiesGrowWithTheReplicas) {
  Truth truth;
  TemporaryDatabase database("dp");
  synthetic::add_dp(database.get(), truth, {1, 2, 4}, 1);
  for (const Prediction& row : predict_all(database.get(), options_for({8, 16, 64})).predictions) {
    EXPECT_EQ(row.strategy, "dp");
    EXPECT_NEAR(row.step_s / synthetic::true_dp_step_s(truth, row.world_size), 1.0, 0.03) << row.world_size;
  }
  const PredictResult result = predict_all(database.get(), options_for({1024}));
  EXPECT_EQ(result.predictions[0].bound, "copies");
  ASSERT_EQ(result.knees.size(), 3U);
  EXPECT_EQ(result.knees.back().share, 0.5);
  ASSERT_TRUE(result.knees.back().workers);
  // Copies are N times 4 overheads plus 27.3 MB / 5 GB/s and small change, 5.8 ms; they are half of the step
  // when they reach the 125 ms of the rest: N = 125 / 5.8 = 21.6.
  EXPECT_NEAR(static_cast<double>(*result.knees.back().workers), 22.0, 1.0);
}

TEST(Predict, BenchCommSuppliesWhatStepsLack) {
  // One rank trained, so no all-reduce in a step; bench-comm at 2 and 4 supplies it.
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("bench");
  synthetic::add_ddp(database.get(), truth, {1}, 1);
  EXPECT_THROW(predict_all(database.get(), options_for({8})), NotSupported);
  synthetic::add_bench(database.get(), truth, {2, 4});
  const Prediction row = predict_all(database.get(), options_for({8})).predictions[0];
  EXPECT_NEAR(row.step_s / synthetic::true_step_s(truth, 8), 1.0, 0.05);
}

TEST(Predict, AnAllReduceSlowerInsideAStepIsFitted) {
  Truth truth;
  truth.nccl = true;
  TemporaryDatabase database("instep");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  synthetic::add_bench(database.get(), truth, {2, 4}, 0.5);  // twice as fast outside of the step
  const store::FitRow fit = fit_named(fit_database(database.get()), "all_reduce");
  EXPECT_NEAR(parameter(fit, "in_step_factor"), 2.0, 0.05) << fit.status;
  EXPECT_NEAR(parameter(fit, "inverse_bandwidth") / truth.beta_s_per_byte, 0.5, 0.02);
  EXPECT_NEAR(predict_all(database.get(), options_for({8})).predictions[0].step_s / synthetic::true_step_s(truth, 8),
              1.0, 0.03);
}

TEST(Predict, LatencyBoundAndBandwidthBoundAreNamed) {
  Truth slow_link;
  slow_link.nccl = true;
  slow_link.beta_s_per_byte = 2e-8;
  TemporaryDatabase bandwidth("bandwidth");
  synthetic::add_ddp(bandwidth.get(), slow_link, {1, 2, 4}, 1);
  EXPECT_EQ(predict_all(bandwidth.get(), options_for({16})).predictions[0].bound, "bandwidth");
  Truth slow_hop;
  slow_hop.nccl = true;
  slow_hop.alpha_s = 5e-3;
  TemporaryDatabase latency("latency");
  synthetic::add_ddp(latency.get(), slow_hop, {1, 2, 4}, 1);
  EXPECT_EQ(predict_all(latency.get(), options_for({64})).predictions[0].bound, "latency");
}

TEST(Predict, SameDatabaseSameBytes) {
  Truth truth;
  truth.noise = 0.05;
  TemporaryDatabase database("same");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 3);
  const auto first = predict_all(database.get(), options_for({8, 64})).predictions;
  const auto second = predict_all(database.get(), options_for({8, 64})).predictions;
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i].fields() == second[i].fields()) << i;
}

TEST(Predict, MissingDataAreReported) {
  TemporaryDatabase empty("empty");
  EXPECT_THROW(fit_database(empty.get()), NotSupported);
  try {
    predict_all(empty.get(), options_for({8}));
    FAIL() << "expected NotSupported";
  } catch (const NotSupported& error) {
    EXPECT_THAT(error.advice(), testing::HasSubstr("run a scenario"));
  }
  // One tiny bucket: only latency shows.
  Truth tiny;
  tiny.nccl = true;
  tiny.bucket_bytes = {44};
  tiny.ready_s = {0.08};
  TemporaryDatabase one_size("onesize");
  synthetic::add_ddp(one_size.get(), tiny, {1, 2, 4}, 1);
  const store::FitRow fit = fit_named(fit_database(one_size.get()), "all_reduce");
  EXPECT_TRUE(fit.usable);
  EXPECT_THAT(fit.status, testing::HasSubstr("bandwidth is not separable (all messages are 44 B)"));
  EXPECT_NEAR(parameter(fit, "latency") / tiny.alpha_s, 1.0, 0.02);
  // One N.
  TemporaryDatabase one_count("onecount");
  synthetic::add_ddp(one_count.get(), Truth{}, {1, 2}, 1);
  EXPECT_THAT(fit_named(fit_database(one_count.get()), "all_reduce").status,
              testing::HasSubstr("measured at one N only (2)"));
}

TEST(Predict, RefusesInvalidOptions) {
  TemporaryDatabase database("options");
  synthetic::add_ddp(database.get(), {}, {1, 2}, 1);
  EXPECT_THROW(predict_all(database.get(), options_for({})), std::invalid_argument);
  EXPECT_THROW(predict_all(database.get(), options_for({0})), std::invalid_argument);
  PredictOptions options = options_for({8});
  options.confidence = 1.0;
  EXPECT_THROW(predict_all(database.get(), options), std::invalid_argument);
}

TEST(FitAndPredict, ReplacesItsRowsAndLeavesOthersAlone) {
  Truth truth;
  TemporaryDatabase database("write");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  database.get().sql().exec(
      "INSERT INTO diagnostic (severity, code, count, message, advice) VALUES ('warning', 'shard_full', 1, 'm', 'a')");
  LearningRateOptions rates;
  rates.workers = {1, 8};
  rates.base_lr = 0.1;
  for (int round = 0; round < 2; ++round) fit_and_predict(database.get(), options_for({8, 64}), rates);
  const auto count = [&](const char* what) {
    return database.get().sql().execAndGet(std::string("SELECT COUNT(*) FROM ") + what).getInt();
  };
  EXPECT_EQ(count("fit"), 2);
  EXPECT_EQ(count("prediction"), 2);
  EXPECT_EQ(count("learning_rate"), 2);
  EXPECT_EQ(count("diagnostic WHERE code = 'shard_full'"), 1);
  const int notes = count("diagnostic");
  fit_and_predict(database.get(), options_for({8, 64}), rates);
  EXPECT_EQ(count("diagnostic"), notes);
  EXPECT_DOUBLE_EQ(
      database.get().sql().execAndGet("SELECT target_lr FROM learning_rate WHERE world_size = 8").getDouble(), 0.8);
}

}  // namespace
}  // namespace ddpprof::fit
