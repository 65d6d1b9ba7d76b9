// Predictions where ranks slow each other on one host: dedicated machines, several hosts, contention before crowding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analysis/predict/lanes.hpp"
#include "analysis/predict/predict.hpp"
#include "tests/analysis/fit/synthetic.hpp"
#include "tests/simulator/reference/ddp_ranks.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;

// Two cores whose memory is the bottleneck: a second rank nearly triples the compute before any core is shared.
Truth contended() {
  Truth truth;
  truth.cores = 2;
  truth.contention_exponent = 1.5;
  return truth;
}

Truth alone(Truth truth) {
  truth.own_hosts = true;
  return truth;
}

TEST(PredictSharing, TwoRanksOnTwoCoresAreNotDedicated) {
  TemporaryDatabase database("dedicated");
  synthetic::add_ddp(database.get(), contended(), {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {1, 2, 3, 8};
  options.dedicated = true;
  for (const Prediction& row : predict_all(database.get(), options).predictions) {
    // Each rank alone on a machine: only the all-reduce comes on top of N = 1.
    const double expected_s = synthetic::true_step_s(alone(contended()), row.world_size);
    EXPECT_NEAR(row.step_s / expected_s, 1.0, 0.1) << row.world_size << " " << row.note;
    EXPECT_EQ(row.note.find("measured;") == 0, row.world_size == 1) << row.note;
  }
}

// A script that calls all_reduce for each gradient, also alone: at N = 1 the calls take 250 ms and exchange nothing.
TEST(PredictSharing, CallsOfASingleRankAreNoCommunicationAndCorrectNone) {
  Truth truth;
  truth.cores = 2;
  TemporaryDatabase database("calls-alone");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  const std::string alone_only =
      " IN (SELECT s.id FROM shard s JOIN measurement m ON m.id = s.measurement_id WHERE m.world_size = 1)";
  database.get().sql().exec(
      "UPDATE step SET duration_ns = duration_ns + 250000000, backward_ns = backward_ns + 250000000, "
      "communication_ns = 250000000, exposed_ns = 250000000 WHERE shard_id" + alone_only +
      "; UPDATE phase SET duration_ns = duration_ns + 250000000 WHERE name = 'backward' AND step_id IN (SELECT id FROM "
      "step WHERE shard_id" + alone_only +
      "); UPDATE phase SET start_ns = start_ns + 250000000 WHERE name = 'optimizer' AND step_id IN (SELECT id FROM step "
      "WHERE shard_id" + alone_only +
      "); UPDATE collective SET end_ns = end_ns + 250000000 WHERE bucket = 2 AND shard_id" + alone_only);
  PredictOptions options;
  options.workers = {1, 2, 8};
  options.dedicated = true;
  const PredictResult result = predict_all(database.get(), options);
  const std::vector<Prediction>& rows = result.predictions;
  ASSERT_EQ(rows.size(), 3u) << (result.notes.empty() ? "" : result.notes.front().message);
  EXPECT_EQ(rows[0].exposed_s, 0.0);
  EXPECT_GT(rows[0].other_s, 0.25) << "the calls";
  for (const Prediction& row : {rows[1], rows[2]})
    EXPECT_NEAR(row.step_s / synthetic::true_step_s(alone(truth), row.world_size), 1.0, 0.1)
        << row.world_size << " " << row.note;
}

// Ranks that share cores were measured to take half of the time that the model expects even with own cores.
TEST(PredictSharing, OwnCoresAreNeverSlowerThanSharedCores) {
  Truth truth;
  truth.cores = 2;
  TemporaryDatabase database("own-slower");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  database.get().sql().exec(
      "UPDATE step SET duration_ns = duration_ns / 2 WHERE shard_id IN (SELECT s.id FROM shard s JOIN measurement m ON "
      "m.id = s.measurement_id WHERE m.world_size = 2)");
  PredictOptions options;
  options.workers = {2, 3, 4, 8};
  options.what_if = parse_what_if(std::vector<std::string>{"bandwidth=2x"});
  const PredictResult shared = predict_all(database.get(), options);
  options.dedicated = true;
  const PredictResult own = predict_all(database.get(), options);
  ASSERT_EQ(own.predictions.size(), shared.predictions.size());
  for (std::size_t i = 0; i < own.predictions.size(); ++i) {
    const Prediction &one = own.predictions[i], &other = shared.predictions[i];
    EXPECT_LE(one.step_s, other.step_s * (1.0 + 1e-9)) << one.world_size << " " << one.note;
    EXPECT_LE(one.step_low_s, other.step_low_s * 1.01) << one.world_size;
  }
  EXPECT_THAT(own.predictions[0].note, testing::HasSubstr("the step with shared cores is used"));
  ASSERT_EQ(own.what_ifs.size(), shared.what_ifs.size());
  for (std::size_t i = 0; i < own.what_ifs.size(); ++i)
    EXPECT_LE(own.what_ifs[i].changed_step_s, shared.what_ifs[i].changed_step_s * (1.0 + 1e-9));
}

TEST(PredictSharing, ReplicasOfOneProcessCannotHaveMachinesOfTheirOwn) {
  TemporaryDatabase database("dp-dedicated");
  synthetic::add_dp(database.get(), contended(), {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {2, 8};
  const auto machine = predict_all(database.get(), options).predictions;
  options.dedicated = true;
  const auto dedicated = predict_all(database.get(), options).predictions;
  ASSERT_EQ(dedicated.size(), machine.size());
  for (std::size_t i = 0; i < machine.size(); ++i) {
    EXPECT_EQ(dedicated[i].step_s, machine[i].step_s);
    EXPECT_EQ(dedicated[i].step_high_s, machine[i].step_high_s);
  }
  EXPECT_NE(dedicated[1].note.find("DataParallel is one process"), std::string::npos) << dedicated[1].note;
  EXPECT_EQ(machine[1].note.find("DataParallel is one process"), std::string::npos) << machine[1].note;
}

TEST(PredictSharing, OneRankAHostComputesAsOneRankDoes) {
  TemporaryDatabase database("hosts");
  synthetic::add_ddp(database.get(), contended(), {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {2, 4, 8, 16};
  options.gpus_per_node = 1;
  const double own_s = contended().forward_s + contended().ready_s.back() + contended().optimizer_s;
  for (const Prediction& row : predict_all(database.get(), options).predictions) {
    EXPECT_NEAR(row.compute_s / own_s, 1.0, 0.1) << row.world_size << " " << row.note;
    EXPECT_NEAR(row.step_s / synthetic::true_step_s(alone(contended()), row.world_size), 1.0, 0.1) << row.world_size;
  }
  // Two ranks a host are the machine of N = 2, compute and calibration alike.
  options.gpus_per_node = 2;
  options.workers = {2, 8};
  const auto rows = predict_all(database.get(), options).predictions;
  EXPECT_NEAR(rows[1].compute_s / rows[0].compute_s, 1.0, 0.05) << rows[1].note;
}

// From 1 to 4 ranks on two cores compute hardly grows (ranks that wait lend their core); carried on, 64 of them would
// do 64 ranks' work in less than the two cores' time.
TEST(PredictSharing, NoPredictionIsFasterThanAllRanksWork) {
  Truth truth;
  truth.cores = 2;
  truth.sharing_exponent = 0.3;
  TemporaryDatabase database("work");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  synthetic::add_dp(database.get(), truth, {1, 2, 4}, 1);
  PredictOptions options;
  options.workers = {8, 64};
  const double own_s = truth.forward_s + truth.ready_s.back() + truth.optimizer_s;
  for (const Prediction& row : predict_all(database.get(), options).predictions) {
    const double least_s = 0.99 * static_cast<double>(row.world_size) * own_s / 2.0;
    EXPECT_GE(row.step_s, least_s) << row.strategy << " " << row.world_size;
    EXPECT_GE(row.step_low_s, least_s) << row.strategy << " " << row.world_size;
    if (row.strategy == "dp") {
      EXPECT_GE(row.compute_s, least_s) << row.world_size;  // copies come on top: nothing overlaps them
    }
  }
}

// A step fitted on a CPU, whose hops wait for cores that compute, with ranks that differ.
TEST(PredictSharing, AFittedStepTakesRanksThatDiffer) {
  Truth truth;
  truth.cores = 2;
  TemporaryDatabase database("ranks-differ");
  synthetic::add_ddp(database.get(), truth, {1, 2, 4}, 1);
  const auto models = std::make_shared<const Models>(fit_models(database.get()));
  PredictOptions options;
  options.workers = {8};
  const SimulatedStep fitted = simulated_step(make_predictor(models, "ddp", options), 8);
  const step::DdpStep& work = fitted.work;
  ASSERT_TRUE(std::ranges::any_of(work.buckets, [](const auto& bucket) { return bucket.beside_compute_s > 0.0; }));
  const auto step_s = [&](const step::DdpStep& one, std::vector<double> pace) {
    return step::simulate(one, {std::move(pace), {}}).step_s;
  };
  const std::vector<double> equal(8, 1.0);
  std::vector<double> late = equal;
  late[5] = 1.5;
  EXPECT_NEAR(step_s(work, equal), step::simulate(work).step_s, 1e-9 * step_s(work, equal));
  step::DdpStep unhindered = work;
  for (step::BucketWork& bucket : unhindered.buckets) bucket.beside_compute_s = 0.0;
  // Half as much compute again on one rank is waited for by all; beside its backward hops are held up as well.
  const double compute_s = 0.5 * (work.forward_s + work.backward_s);
  EXPECT_GT(step_s(work, late), step_s(work, equal) + 0.5 * compute_s);
  EXPECT_GT(step::simulate(work, {late, {}}).buckets.front().end_s,
            step::simulate(unhindered, {late, {}}).buckets.front().end_s);
}

}  // namespace
}  // namespace ddpprof::fit
