// Predictions of a sharded training from measurements that follow a known law (sharded_measurements.hpp).
#include "tests/analysis/predict/sharded_measurements.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "analysis/fit/sharded/ring_fit.hpp"

namespace ddpprof::fit {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(Sharded, MoreRanksFollowTheLaw) {
  measure(1);
  measure(2);
  const std::map<std::int64_t, Prediction> rows = predicted();
  ASSERT_EQ(rows.size(), 4U);
  for (const auto& [workers, row] : rows) {
    EXPECT_EQ(row.strategy, "fsdp");
    EXPECT_NEAR(row.compute_s, compute_s(workers), 1e-6) << workers;
    EXPECT_NEAR(row.exposed_s, workers > 1 ? exposed_s(workers) : 0.0, near * exposed_s(8)) << workers;
    EXPECT_NEAR(row.other_s, other_s, 1e-6) << workers;
    EXPECT_NEAR(row.step_s, row.compute_s + row.exposed_s + row.skew_s + row.other_s, 1e-9) << workers;
    EXPECT_NEAR(row.throughput, static_cast<double>(32 * workers) / row.step_s, 1e-6);
    EXPECT_NEAR(row.efficiency, rows.at(1).step_s / row.step_s, 1e-9);
    EXPECT_NEAR(row.latency_s + row.bandwidth_s, row.communication_s, 1e-9);
  }
  const double latency_s = 3 * (usual_fixed_hops + 7) * (2 * gather_latency_s + scatter_latency_s);
  EXPECT_NEAR(rows.at(8).latency_s / latency_s, 1.0, 0.1);
  EXPECT_LT(rows.at(4).step_high_s / rows.at(4).step_low_s, rows.at(8).step_high_s / rows.at(8).step_low_s);
  EXPECT_EQ(rows.at(8).extrapolation, 4.0);
}

// Three quarters of the time that no unit has is that of kernels.
TEST_F(Sharded, KernelsOfNoUnitAreCompute) {
  measure(2);
  database_.sql().exec("UPDATE step SET compute_ns = duration_ns - exposed_ns - " + std::to_string(ns(0.25 * other_s)));
  for (const auto& [workers, row] : predicted()) {
    if (workers == 1) continue;
    EXPECT_NEAR(row.other_s, 0.25 * other_s, 1e-6) << workers;
    EXPECT_NEAR(row.step_s, row.compute_s + row.exposed_s + row.skew_s + row.other_s, 1e-9) << workers;
    if (workers == 2) {
      EXPECT_NEAR(row.compute_s, compute_s(2) + 0.75 * other_s, 1e-6);
    }
  }
}

TEST_F(Sharded, WithoutOneRankTheOptimizerIsUncertain) {
  measure(2);
  const std::map<std::int64_t, Prediction> rows = predicted();
  EXPECT_NEAR(rows.at(8).compute_s, compute_s(2) - 0.5 * (optimizer_s / 2 - optimizer_s / 8), 1e-6);
  EXPECT_LT(rows.at(8).step_low_s, compute_s(8) + exposed_s(8) + other_s);
  EXPECT_GT(rows.at(8).step_high_s, compute_s(8) + exposed_s(8) + other_s);
  EXPECT_TRUE(noted("prediction_uncertain", "how much of the optimizer's time shrinks"));
}

// As torchrun starts them: one rank with all cores, several ranks with one thread each.
TEST_F(Sharded, OneRankWithMoreThreadsShowsItsOwnStep) {
  measure(1, {.threads = 2});
  measure(2);
  const std::map<std::int64_t, Prediction> rows = predicted();
  EXPECT_NEAR(rows.at(1).step_s, compute_s(1) + other_s, 1e-6);
  EXPECT_EQ(rows.at(1).note, "");
  EXPECT_NEAR(rows.at(2).efficiency, rows.at(1).step_s / rows.at(2).step_s, 1e-9);
  EXPECT_TRUE(noted("threads_of_one_n", "fsdp: N = 1 has 2 threads per rank, predictions 1"));
  EXPECT_FALSE(noted("measurement_left_out", ""));
  // The optimizer of N = 1 takes twice as long as that of N = 2, or longer with one thread: all of it shrinks.
  EXPECT_NEAR(rows.at(8).compute_s, compute_s(8), 1e-6);
  EXPECT_THAT(rows.at(8).note,
              HasSubstr("forward and backward take the time of N = 2, the optimizer that of a rank's shard"));
  EXPECT_FALSE(noted("prediction_uncertain", "optimizer"));
}

// With one thread the optimizer of N = 1 would take as long as that of N = 2, or twice as long.
TEST_F(Sharded, ThreadsOfOneRankLeaveTheOptimizerUncertain) {
  measure(1, {.threads = 2});
  measure(2);
  database_.sql().exec("UPDATE step SET optimizer_ns = optimizer_ns / 2 WHERE shard_id = 1");
  const std::map<std::int64_t, Prediction> rows = predicted();
  EXPECT_NEAR(rows.at(8).compute_s, compute_s(2) - 0.5 * (optimizer_s / 2 - optimizer_s / 8), 1e-6);
  EXPECT_TRUE(noted("prediction_uncertain", "optimizer's time shrinks with a rank's shard: the interval covers 0"));
}

TEST_F(Sharded, OtherThreadsAtAMeasuredNAreLeftOut) {
  measure(1);
  measure(2);
  measure(2, {.threads = 2});
  EXPECT_NEAR(predicted().at(2).step_s, compute_s(2) + other_s + exposed_s(2), 1e-6);
  EXPECT_TRUE(
      noted("measurement_left_out", "measurement 3 is not used to predict fsdp: it has another number of threads"));
}

TEST_F(Sharded, OneRankWithMoreThreadsShowsItsStepBesideOtherHosts) {
  measure(1, {.threads = 2});
  measure(4, {.nodes = 2});
  PredictOptions options;
  options.gpus_per_node = 8;
  const std::map<std::int64_t, Prediction> rows = predicted(true, options);
  EXPECT_NEAR(rows.at(1).step_s, compute_s(1) + other_s, 1e-6);
  EXPECT_FALSE(rows.contains(2)) << "links inside of a host were not measured";
}

TEST_F(Sharded, RanksThatNeedMoreCoresArePredictedWithOwnCoresAndAWarning) {
  measure(1);
  measure(2);
  const std::map<std::int64_t, Prediction> rows = predicted(false);
  EXPECT_TRUE(rows.contains(2)) << "measured";
  EXPECT_THAT(rows.at(2).note, Not(HasSubstr("own cores")));
  EXPECT_THAT(rows.at(4).note, HasSubstr("own cores")) << "4 ranks on 2 cores";
  EXPECT_TRUE(noted("own_cores_assumed", "fsdp at N = 4, 8 is predicted with own cores for each rank"));
  const std::map<std::int64_t, Prediction> dedicated = predicted(true);
  EXPECT_EQ(rows.at(8).step_s, dedicated.at(8).step_s);
  EXPECT_EQ(rows.at(8).step_high_s, dedicated.at(8).step_high_s);
  EXPECT_FALSE(noted("own_cores_assumed", "own cores"));
}

TEST_F(Sharded, OneRankAloneDoesNotShowTheCollectives) {
  measure(1);
  const std::map<std::int64_t, Prediction> rows = predicted();
  EXPECT_EQ(rows.size(), 1U) << "the measured one";
  EXPECT_EQ(rows.count(1), 1U);
  ASSERT_EQ(result_.notes.size(), 1U);
  EXPECT_THAT(result_.notes[0].message, HasSubstr("no measurement with 2 or more ranks"));
}

// 4 ranks shared 2 cores: their compute is not that of a rank with a core of its own.
TEST_F(Sharded, PredictionsStartFromRanksWithCoresOfTheirOwn) {
  measure(1);
  measure(2);
  measure(4);
  const std::map<std::int64_t, Prediction> rows = predicted();
  EXPECT_EQ(rows.at(8).extrapolation, 4.0) << "from 2";
  EXPECT_NEAR(rows.at(8).exposed_s / (exposed_s(8)), 1.0, near);
}

// HSDP: 2 replicas of 2 shards each were measured, N = 8 has 4 replicas of 2 shards each.
TEST_F(Sharded, FurtherRanksAreFurtherReplicas) {
  for (const char* device : {"cpu", "cuda"}) {
    SCOPED_TRACE(device);
    database_ = store::Database::create(folder_ / (std::string(device) + ".db"));
    measure(1, {.device = device, .cores = 8});
    measure(4, {.device = device, .cores = 8, .replicas = 2, .ranks = 2});
    const std::map<std::int64_t, Prediction> rows = predicted();
    for (const std::int64_t replicas : {1, 2, 4}) {
      const Made made{.device = device, .replicas = replicas};
      const strategy::ShardedOutcome truth = simulated(2 * replicas, made);
      const Prediction& row = rows.at(2 * replicas);
      EXPECT_NEAR(row.communication_s / truth.communication_s, 1.0, near) << replicas;
      EXPECT_NEAR(row.exposed_s, truth.exposed_s(), near * truth.communication_s) << replicas;
      EXPECT_NEAR(row.compute_s, compute_s(2 * replicas, made), 1e-6) << replicas;
      EXPECT_NEAR(row.step_s, compute_s(2 * replicas, made) + other_s + truth.exposed_s(), near * truth.communication_s)
          << replicas;
    }
    EXPECT_THAT(rows.at(8).note, HasSubstr("shard groups keep their 2 ranks: 4 replicas"));
    ASSERT_EQ(result_.memory.size(), 4U);
    EXPECT_NEAR(result_.memory.back().parameters_bytes, 7e6 / 2, 1e-6) << "half of all parameters";
  }
}

TEST_F(Sharded, RanksThatAreNoWholeShardGroupsAreRefused) {
  measure(4, {.cores = 4, .replicas = 2, .ranks = 2});
  expect_refused(7, "7 ranks are not a multiple of the 2 ranks of a shard group");
}

TEST_F(Sharded, ReplicasOfShardsOfUnknownSizeAreRefused) {
  measure(4, {.cores = 4, .replicas = 2});
  expect_refused(8, "the size of the shard groups was not recorded");
}

TEST_F(Sharded, ReplicasThatReduceRarelyAreRefused) {
  measure(4, {.cores = 4, .replicas = 2, .ranks = 2});
  database_.sql().exec("DELETE FROM sharded_work WHERE action = 'all_reduce' AND step_id % 3 > 0 AND unit > 1");
  expect_refused(8, "the size of the shard groups was not recorded, or differs between units");
}

TEST_F(Sharded, OtherParallelismBesideTheShardsIsRefused) {
  measure(4, {.cores = 4, .ranks = 2});
  expect_refused(8, "over 2 of 4 ranks");
}

TEST_F(Sharded, WithoutSizesOfCollectivesItIsRefused) {
  measure(2, {.sizes = false});
  EXPECT_TRUE(predicted().contains(2)) << "measured";
  expect_refused(8, "record_shapes=True");
}

TEST_F(Sharded, IfAllRanksSharedCoresItIsRefused) {
  measure(2, {.cores = 1});
  EXPECT_TRUE(predicted().contains(2)) << "measured";
  expect_refused(8, "all measured ranks shared cores");
}

TEST_F(Sharded, AnUnusualNumberOfCollectivesIsRefused) {
  measure(2);
  database_.sql().exec("INSERT INTO sharded_work SELECT * FROM sharded_work WHERE action = 'all_gather' AND unit = 2");
  expect_refused(8, "the number of collectives");
}

TEST_F(Sharded, OtherStrategiesWithUnitsAreRefusedWithTheirReason) {
  measure(2, {.strategy = "sharded"});
  database_.sql().exec(
      "INSERT INTO diagnostic (measurement_id, severity, code, count, message, advice) VALUES (1, "
      "'warning', 'sharded_units_differ', 1, 'rank 1 has other units', '')");
  expect_refused(8, "rank 1 has other units");
}

TEST_F(Sharded, MeasurementsOfOtherJobsAreLeftOutWithANote) {
  measure(1);
  measure(2);
  measure(4, {.cores = 4, .gathers_again = false});
  measure(4, {.backend = "mpi", .cores = 4});
  const std::map<std::int64_t, Prediction> rows = predicted();
  EXPECT_EQ(rows.at(4).extrapolation, 2.0) << "from 2";
  EXPECT_NEAR(rows.at(4).exposed_s / (exposed_s(4)), 1.0, near) << "gathers again";
  EXPECT_TRUE(noted("measurement_left_out", "measurement 3 is not used to predict fsdp: other sharded units"));
  EXPECT_TRUE(noted("measurement_left_out", "measurement 4 is not used to predict fsdp: another backend"));
  measure(2, {.backend = "mpi", .cores = 4});
  predicted();
  EXPECT_TRUE(
      noted("measurement_left_out", "measurements 4, 5 are not used to predict fsdp: another backend"));
}

TEST_F(Sharded, LinksBetweenHostsAreFittedApart) {
  measure(2);
  measure(4, {.nodes = 2});
  PredictOptions options;
  options.gpus_per_node = 8;
  const std::map<std::int64_t, Prediction> inside = predicted(true, options);
  ASSERT_TRUE(inside.contains(8));
  EXPECT_NEAR(inside.at(8).exposed_s / (exposed_s(8)), 1.0, near);
  EXPECT_NEAR(inside.at(4).exposed_s / (exposed_s(4)), 1.0, near) << "measured on two hosts only";
  options.gpus_per_node = 2;
  EXPECT_NEAR(predicted(true, options).at(8).exposed_s / (between_factor * exposed_s(8)), 1.0, near);
}

TEST_F(Sharded, LinksThatWereNotMeasuredAreRefused) {
  measure(2);
  PredictOptions options;
  options.gpus_per_node = 2;
  expect_refused(8, "collectives between hosts were not measured", options);
}

TEST_F(Sharded, ALinkThatIsNamedIsNotUsedAndANoteTellsWhy) {
  Made made;
  made.device = "cuda";
  measure(2, made);
  PredictOptions options;
  predicted(true, options);
  EXPECT_FALSE(noted("links_not_measured", "is not used"));
  options.inter_node = collective::parse_node_links("100Gbit/s");
  predicted(true, options);
  EXPECT_TRUE(noted("links_not_measured", "is not used: all ranks of the requested N are on one node"));
  options.gpus_per_node = 4;
  predicted(true, options);
  EXPECT_TRUE(noted("links_not_measured",
                    "fsdp: the link between nodes that was named (100Gbit/s per node) is not used: all-gathers and "
                    "reduce-scatters between hosts are predicted from measurements or logs alone"));
}

TEST_F(Sharded, LinksInsideOfAHostThatWereNotMeasuredAreRefused) {
  measure(1);
  measure(4, {.nodes = 2});
  PredictOptions options;
  options.gpus_per_node = 8;
  expect_refused(8, "collectives inside of one host were not measured", options);
}

TEST_F(Sharded, GradientsScatteredInEachMicroBatchAndARootThatGathersAgain) {
  const Made made{.accumulation = 4, .scatters_each = true, .root_bytes = 3e6};
  measure(1, {.accumulation = 4, .root_bytes = 3e6});
  measure(2, made);
  const std::map<std::int64_t, Prediction> rows = predicted();
  for (const std::int64_t workers : {2, 4, 8}) {
    EXPECT_NEAR(rows.at(workers).exposed_s / (simulated(workers, made).exposed_s()), 1.0, near) << workers;
    EXPECT_NEAR(rows.at(workers).compute_s, compute_s(workers, made), 1e-6) << workers;
  }
}

TEST_F(Sharded, OnDevicesComputeHidesCollectives) {
  const Made made{.device = "cuda", .accumulation = 2, .cores = 8};
  measure(1, made);
  measure(2, made);
  for (const auto& [workers, row] : predicted()) {
    const strategy::ShardedOutcome truth = simulated(workers, made);
    if (workers > 1) {
      EXPECT_NEAR(row.communication_s / truth.communication_s, 1.0, 0.06) << workers;
      EXPECT_NEAR(row.exposed_s / truth.exposed_s(), 1.0, 0.06) << workers;
      EXPECT_LT(row.exposed_s, row.communication_s) << workers;
    }
  }
}

// The steps' exposed time contradicts the units' collectives.
TEST_F(Sharded, ExposedTimeIsAtMostAllCommunication) {
  for (const double factor : {0.9, 8.0}) {
    database_ = store::Database::create(folder_ / ("b" + std::to_string(factor) + ".db"));
    measure(2, {.device = "cuda", .exposed_factor = factor});
    for (const auto& [workers, row] : predicted()) {
      EXPECT_LE(row.exposed_s, row.communication_s * (1 + 1e-9)) << workers;
      if (workers > 1) {
        EXPECT_GT(row.exposed_s, 0.0) << workers;
      }
    }
  }
}

TEST_F(Sharded, ExposedTimeThatIsAllSkewLeavesTheRestUncertain) {
  measure(2, {.exposed_factor = 0.0, .skew_s = 5e-3});
  const Prediction row = predicted().at(8);
  EXPECT_NEAR(row.exposed_s / exposed_s(8), 1.0, near) << "as simulated";
  EXPECT_LT(row.step_low_s, row.step_s - 0.5 * row.exposed_s);
  EXPECT_TRUE(noted("prediction_uncertain", "not separated from the wait"));
}

TEST_F(Sharded, OneSizeDoesNotSeparateLatencyAndBandwidth) {
  measure(1);
  measure(2, {.unit_bytes = 2e6});
  const Prediction row = predicted().at(8);
  // With bandwidth alone collectives take 7/4 times as long as at N = 2, with latency of each hop alone 7 times.
  const double at_2_s = simulated(2, {.unit_bytes = 2e6}).communication_s;
  EXPECT_NEAR(row.exposed_s / at_2_s, 1.8, 0.1);
  EXPECT_LT(row.step_low_s, compute_s(8) + other_s + 3 * at_2_s);
  EXPECT_GT(row.step_high_s, compute_s(8) + other_s + 3 * at_2_s);
  EXPECT_TRUE(noted("prediction_uncertain", "latency and bandwidth"));
}

TEST_F(Sharded, TheIntervalCoversTheTruthWithNoise) {
  measure(1, {.noise = 0.1});
  measure(2, {.noise = 0.1});
  const std::map<std::int64_t, Prediction> rows = predicted();
  for (const std::int64_t workers : {4, 8}) {
    const Prediction& row = rows.at(workers);
    const double truth_s = compute_s(workers) + other_s + exposed_s(workers);
    EXPECT_LT(row.step_low_s, truth_s) << workers;
    EXPECT_GT(row.step_high_s, truth_s) << workers;
    EXPECT_NEAR(row.step_s / truth_s, 1.0, 0.15) << workers;
  }
}

// Tensor parallel layers reduce their activations beside the units' collectives.
TEST_F(Sharded, DataOfNoUnitIsRefused) {
  measure(1);
  measure(2);
  database_.sql().exec(
      "INSERT INTO collective (shard_id, step_id, communicator, sequence, op, bucket, bytes, launch_ns) SELECT "
      "shard_id, "
      "id, 7, id, 'all_reduce', -1, 1000000, 0 FROM step");
  const std::map<std::int64_t, Prediction> rows = predicted();
  EXPECT_TRUE(rows.contains(2)) << "measured";
  EXPECT_FALSE(rows.contains(4));
  ASSERT_EQ(result_.notes.size(), 1U);
  EXPECT_THAT(result_.notes[0].message, HasSubstr("data that belongs to no unit, as tensor, pipeline"));
}

TEST_F(Sharded, TheTablesOfPredictionsHaveTheRows) {
  measure(1);
  measure(2);
  PredictOptions options;
  options.workers = {4};
  options.dedicated = true;
  fit_and_predict(database_, options, {});
  EXPECT_EQ(database_.sql().execAndGet("SELECT COUNT(*) FROM prediction WHERE strategy = 'fsdp'").getInt(), 1);
}

TEST_F(Sharded, PredictedAgainTheWarningsAreStoredOnce) {
  measure(1, {.threads = 2});
  measure(2);
  PredictOptions options;
  options.workers = {4};
  for (int time = 0; time < 2; ++time) fit_and_predict(database_, options, {});
  for (const char* code : {"threads_of_one_n", "own_cores_assumed"})
    EXPECT_EQ(
        database_.sql().execAndGet("SELECT COUNT(*) FROM diagnostic WHERE code = '" + std::string(code) + "'").getInt(), 1)
        << code;
}

TEST(RingFit, ItsTermsAreFound) {
  std::vector<UnitCollectiveTime> points;
  for (const std::int64_t workers : {2, 4})
    for (const double bytes : {1e4, 1e6, 5e7})
      points.push_back({workers, bytes, ring_s(workers, bytes, gather_latency_s, gather_s_per_byte)});
  const RingCost cost = fit_ring(points);
  EXPECT_NEAR(cost.latency_s / gather_latency_s, 1.0, 0.02);
  EXPECT_NEAR(cost.seconds_per_byte / gather_s_per_byte, 1.0, 0.002);
  EXPECT_NEAR(cost.error, 0.0, 0.01);
  EXPECT_TRUE(cost.separated);
  EXPECT_LT(cost.latency_sd_s, 0.1 * cost.latency_s);
}

TEST(RingFit, ScaledCallsTakeTheirMeasuredTime) {
  const RingCalls calls{2, 3.0, 6e6, 30e-3};
  const RingCost cost{.latency_s = 1e-3, .seconds_per_byte = 2e-9};
  const RingCost found = scaled(cost, calls);
  EXPECT_NEAR(3 * found.seconds(2, 0) + found.seconds(2, 6e6) - found.seconds(2, 0), 30e-3, 1e-12);
  EXPECT_NEAR(found.latency_s / found.seconds_per_byte, 1e-3 / 2e-9, 1e-3) << "in the same proportion";
  EXPECT_NEAR(found.error, std::log(30.0 / 9.0), 1e-9);
}

// Calls of 1 MB and 64 MB at N = 2: that the short ones take less than their bytes cost rules out a large latency.
TEST(RingFit, ShortCallsBoundTheLatency) {
  const UnitCollectiveTime points[] = {{2, 4e4, 0.4e-3}, {2, 3e6, 34e-3}, {2, 4e6, 54e-3}};
  const RingCost cost = fit_ring(points);
  EXPECT_TRUE(cost.separated);
  EXPECT_LE(cost.with_latency(3.0).latency_s, 0.4e-3);
  EXPECT_NEAR(cost.with_latency(3.0).seconds(8, 4e6) / cost.seconds(8, 4e6), 1.0, 0.05);
}

// With one size at one N, the time at that N is kept whatever the latency is, and other N are uncertain.
TEST(RingFit, OneSizeLeavesTheLatencyOpen) {
  const UnitCollectiveTime points[] = {{8, 1e8, 10e-3}};
  const RingCost cost = fit_ring(points);
  EXPECT_FALSE(cost.separated);
  for (const double z : {-3.0, 0.0, 1.6}) EXPECT_NEAR(cost.with_latency(z).seconds(8, 1e8), 10e-3, 1e-9);
  EXPECT_FALSE(cost.fixed_hops_known);
  const auto at = [&](double z, double fixed) {
    return cost.with_latency(z).with_fixed_hops(fixed, 8).seconds(64, 1e8);
  };
  EXPECT_NEAR(cost.with_fixed_hops(0.0, 8).seconds(8, 1e8), 10e-3, 1e-9);
  EXPECT_GT(at(1.6, 0.0), 3.0 * at(0.0, 3.0)) << "each hop may have the latency";
  EXPECT_LT(at(-1.6, 3.0), at(0.0, 3.0));
  const RingCost device = fit_ring(points, 200e-6);
  EXPECT_LE(device.with_latency(3.0).latency_s, 200e-6);
  EXPECT_LT(device.with_latency(1.6).with_fixed_hops(0.0, 8).seconds(64, 1e8), 2.5 * device.seconds(64, 1e8));
}

// Errors of long calls count more: short calls are mostly noise.
TEST(RingFit, LongCallsDecide) {
  std::vector<UnitCollectiveTime> points{{2, 1e3, 0.2e-3}, {2, 2e3, 3e-3}, {2, 3e3, 0.5e-3}};
  for (const double bytes : {1e7, 2e7, 4e7}) points.push_back({2, bytes, 0.5 * bytes * 2e-9});
  EXPECT_NEAR(fit_ring(points).seconds(2, 4e7) / 40e-3, 1.0, 0.1);
}

TEST(RingFit, NoTermIsNegative) {
  const UnitCollectiveTime falling[] = {{2, 1e6, 5e-3}, {2, 2e6, 4e-3}};
  EXPECT_GE(fit_ring(falling).seconds_per_byte, 0.0);
  const UnitCollectiveTime steep[] = {{2, 1e6, 1e-3}, {2, 2e6, 9e-3}};
  EXPECT_GE(fit_ring(steep).latency_s, 0.0);
  const UnitCollectiveTime one[] = {{2, 1e6, 1e-3}, {2, 1e6, 1e-3}};
  EXPECT_NEAR((usual_fixed_hops + 1.0) * fit_ring(one).latency_s, 0.1e-3, 2e-6);
  EXPECT_GT(fit_ring(falling).seconds_per_byte, 0.0) << "bytes always take time";
  EXPECT_FALSE(fit_ring(one).separated);
  EXPECT_NEAR(fit_ring(one).seconds(2, 1e6), 1e-3, 1e-12);
  EXPECT_EQ(fit_ring({}).seconds(8, 1e6), 0.0);
}

}  // namespace
}  // namespace ddpprof::fit
