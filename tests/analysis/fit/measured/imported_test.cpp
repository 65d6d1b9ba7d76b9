// Predictions from what imports lack: other ranks' traces, and what a backward does after its last all-reduce.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/fit/measured/unseen_waits.hpp"
#include "analysis/predict/predict.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;

synthetic::Truth on_gpus() {
  synthetic::Truth truth;
  truth.nccl = true;
  truth.own_hosts = true;
  truth.alpha_s = 20e-6;
  truth.beta_s_per_byte = 1e-10;
  truth.bucket_bytes = {8 << 20, 25 << 20, 30 << 20, 26 << 20};
  truth.ready_s = {0.02, 0.04, 0.06, 0.08};
  return truth;
}

// An import of rank 0's trace alone: its collectives last until rank 1 has arrived, and the time of that is unknown.
void keep_rank_0(store::Database& database, double wait_s) {
  database.sql().exec(
      "UPDATE measurement SET kind = 'import', status = 'partial';"
      "DELETE FROM collective WHERE shard_id IN (SELECT id FROM shard WHERE rank <> 0);"
      "DELETE FROM grad_ready WHERE step_id IN (SELECT st.id FROM step st JOIN shard s ON s.id = st.shard_id WHERE "
      "s.rank <> 0);"
      "DELETE FROM phase WHERE step_id IN (SELECT st.id FROM step st JOIN shard s ON s.id = st.shard_id WHERE s.rank "
      "<> 0);"
      "DELETE FROM step WHERE shard_id IN (SELECT id FROM shard WHERE rank <> 0);"
      "DELETE FROM shard WHERE rank <> 0;"
      "UPDATE collective SET transfer_ns = NULL, skew_ns = NULL, start_ns = start_ns - " +
      std::to_string(static_cast<std::int64_t>(wait_s * 1e9)));
}

TEST(Imported, OneRanksWaitingIsNoLatencyThatGrowsWithN) {
  TemporaryDatabase database("one_rank");
  synthetic::Truth truth = on_gpus();
  truth.forward_s = 0.004;  // so that most of the communication is exposed
  truth.optimizer_s = 0.001;
  truth.ready_s = {0.002, 0.004, 0.006, 0.008};
  synthetic::add_ddp(database.get(), truth, {2}, 3);
  keep_rank_0(database.get(), 0.5e-3);
  PredictOptions options;
  options.workers = {2, 16, 64};
  const PredictResult result = predict_all(database.get(), options);
  ASSERT_EQ(result.predictions.size(), 3U);
  for (const Prediction& prediction : result.predictions) {
    const double truth_s = synthetic::true_step_s(truth, prediction.world_size);
    EXPECT_NEAR(prediction.step_s, truth_s, 0.1 * truth_s) << prediction.world_size;
  }
  EXPECT_THAT(fit_database(database.get()).notes,
              Contains(Field(&Note::message, HasSubstr("traces of 1 of 2 ranks represent all"))));
}

// All-reduces of one size do not show how much of their time was waiting. If all of it was, for a rank that is late in
// all steps, the step does not grow.
TEST(Imported, WithoutSomeRanksTheIntervalContainsThatTransferWasWaiting) {
  TemporaryDatabase database("one_size");
  synthetic::Truth truth = on_gpus();
  truth.forward_s = 0.004;
  truth.optimizer_s = 0.001;
  truth.ready_s = {0.002, 0.004, 0.006, 0.008};
  truth.bucket_bytes = {25 << 20, 25 << 20, 25 << 20, 25 << 20};
  truth.copy_back_s_per_byte = 0.0;
  synthetic::add_ddp(database.get(), truth, {2}, 3);
  keep_rank_0(database.get(), 0.5e-3);
  PredictOptions options;
  options.workers = {2, 16};
  const PredictResult result = predict_all(database.get(), options);
  ASSERT_EQ(result.predictions.size(), 2U);
  const Prediction &measured = result.predictions[0], &row = result.predictions[1];
  EXPECT_GT(row.step_s, 1.05 * measured.step_s);
  EXPECT_LE(row.step_low_s, 1.001 * measured.step_s);
  EXPECT_GE(row.step_high_s, row.step_s);
}

TEST(Imported, TheWaitIsFoundOnlyIfRanksAreMissing) {
  TemporaryDatabase database("waits");
  synthetic::add_ddp(database.get(), on_gpus(), {2}, 3);
  const auto look = [&] {
    auto& sql = database.get().sql();
    const MeasurementInfo info = read_measurements(sql).at(0);
    std::vector<StepInfo> steps = read_steps(sql, info.id);
    std::vector<CollectiveInfo> collectives = read_collectives(sql, info.id);
    return find_unseen_waits(info, steps, collectives);
  };
  EXPECT_EQ(look().warning, "");
  keep_rank_0(database.get(), 1.5e-3);
  const UnseenWaits waits = look();
  EXPECT_NEAR(waits.wait_s, 1.5e-3, 0.1e-3);  // less what the library's latency is more than the truth's 40 us
  EXPECT_THAT(waits.warning, HasSubstr("1 of 2 ranks"));
}

// A backward that goes on after a last bucket of a few KiB is not copying it: all buckets at such a rate took minutes.
TEST(Imported, WhatFollowsATinyBucketIsNoRateOfCopying) {
  TemporaryDatabase database("tail");
  synthetic::Truth truth = on_gpus();
  truth.bucket_bytes.back() = 4096;
  truth.copy_back_s_per_byte = 0.0;
  synthetic::add_ddp(database.get(), truth, {2}, 3);
  database.get().sql().exec(
      "UPDATE phase SET duration_ns = duration_ns + 5000000 WHERE name = 'backward';"
      "UPDATE step SET duration_ns = duration_ns + 5000000, backward_ns = backward_ns + 5000000");
  PredictOptions options;
  options.workers = {8};
  const PredictResult result = predict_all(database.get(), options);
  ASSERT_EQ(result.predictions.size(), 1U);
  const double truth_s = synthetic::true_step_s(truth, 8);
  EXPECT_GT(result.predictions[0].step_s, truth_s);
  EXPECT_LT(result.predictions[0].compute_s, 1.5 * truth_s);
}

NotSupported refusal_of(store::Database& database) {
  PredictOptions options;
  options.workers = {16};
  try {
    predict_all(database, options);
  } catch (const NotSupported& refused) {
    return refused;
  }
  return {"", "predicted"};
}

TEST(Imported, WhatIsNotDataParallelIsRefusedWithWhatItsImportSaid) {
  TemporaryDatabase database("pipeline");
  synthetic::add_ddp(database.get(), on_gpus(), {2}, 3);
  database.get().sql().exec(
      "UPDATE measurement SET kind = 'import', strategy = 'other';"
      "INSERT INTO diagnostic (measurement_id, severity, code, count, message, advice) SELECT id, 'warning', "
      "'not_data_parallel', 1, 'ranks send to each other', 'it is reported' FROM measurement");
  const NotSupported refused = refusal_of(database.get());
  EXPECT_EQ(refused.reason(), "ranks send to each other");
  EXPECT_EQ(refused.advice(), "it is reported");
}

TEST(Imported, OneDeviceAloneIsPredictedFromALogOfAllReduces) {
  TemporaryDatabase database("alone");
  synthetic::add_ddp(database.get(), on_gpus(), {1}, 3);
  database.get().sql().exec("UPDATE measurement SET kind = 'import'");
  const NotSupported refused = refusal_of(database.get());
  EXPECT_THAT(refused.advice(), HasSubstr("--all-reduce"));
  EXPECT_THAT(refused.advice(), testing::Not(HasSubstr("ddpprof run"))) << "an import cannot be measured again";
  PredictOptions options;
  options.workers = {16};
  const std::vector<collective::SizeTime> times{{1e6, 1e-3}, {1e8, 20e-3}};
  options.all_reduce.emplace_back(16, times);
  EXPECT_EQ(predict_all(database.get(), options).predictions.size(), 1U);
  database.get().sql().exec("UPDATE measurement SET parameter_bytes = 0");
  EXPECT_THROW(
      {
        try {
          predict_all(database.get(), options);
        } catch (const NotSupported& error) {
          EXPECT_THAT(error.reason(), HasSubstr("--param-bytes"));
          throw;
        }
      },
      NotSupported);
}

}  // namespace
}  // namespace ddpprof::fit
