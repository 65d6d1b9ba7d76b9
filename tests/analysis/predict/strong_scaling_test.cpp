// A fixed global batch divided among the workers, where several batches per worker were measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/fit/models.hpp"
#include "analysis/predict/predict.hpp"
#include "tests/analysis/fit/synthetic.hpp"

namespace ddpprof::fit {
namespace {

using synthetic::TemporaryDatabase;
using synthetic::Truth;
using testing::HasSubstr;
using testing::IsEmpty;

Truth gpus() {
  Truth truth;
  truth.nccl = true;
  truth.alpha_s = 1e-3;
  return truth;
}

// The job with another batch: compute is a line in the batch, with a fixed share at 32.
Truth at_batch(std::int64_t batch) {
  constexpr double fixed_share = 0.4;
  Truth truth = gpus();
  const double longer = fixed_share + (1.0 - fixed_share) * static_cast<double>(batch) / 32.0;
  truth.batch = batch;
  truth.data_s *= static_cast<double>(batch) / 32.0;
  truth.forward_s *= longer;
  for (double& ready_s : truth.ready_s) ready_s *= longer;
  return truth;
}

PredictOptions asked(std::vector<std::int64_t> workers) {
  PredictOptions options;
  options.workers = std::move(workers);
  options.gpus_per_node = 64;
  return options;
}

class StrongScalingTest : public testing::Test {
 protected:
  StrongScalingTest() : several_("strong-several") {
    synthetic::add_ddp(several_.get(), at_batch(32), {1, 2, 4}, 1);
    for (const std::int64_t batch : {16, 64, 128}) synthetic::add_ddp(several_.get(), at_batch(batch), {1, 2, 4}, 2);
  }
  TemporaryDatabase several_;
};

TEST_F(StrongScalingTest, IsWhatARunWithThatBatchTakes) {
  const PredictResult result = predict_all(several_.get(), asked({1, 2, 3, 4, 8, 16}));
  ASSERT_EQ(result.strong.size(), 1U);
  const StrongScaling& strong = result.strong.front();
  EXPECT_EQ(strong.global_batch, 4 * 32) << "of the largest measured N";
  ASSERT_EQ(strong.points.size(), 6U);
  for (const std::int64_t workers : {1, 2, 4, 8}) {
    const auto point = *std::ranges::find(strong.points, workers, &StrongPoint::workers);
    EXPECT_EQ(point.batch_per_worker, 128 / workers);
    EXPECT_EQ(point.refusal, "");
    const double truth_s = synthetic::true_step_s(at_batch(128 / workers), workers);
    EXPECT_NEAR(point.step_s / truth_s, 1.0, 0.06) << workers;
    EXPECT_LE(point.low_s, truth_s * 1.005) << workers;
    EXPECT_GE(point.high_s, truth_s * 0.995) << workers;
    EXPECT_NEAR(point.throughput * point.step_s, 128.0, 1e-9);
  }
  EXPECT_THAT(strong.points[2].refusal, HasSubstr("cannot be divided into 3 equal micro-batches"));
  EXPECT_THAT(strong.points[5].refusal,
              HasSubstr("a batch of 8 per worker is outside of the measured batches, 16 to 128"));
  EXPECT_EQ(strong.points[5].step_s, 0.0);
}

TEST_F(StrongScalingTest, TakesAnotherGlobalBatch) {
  PredictOptions options = asked({16});
  options.global_batch = 1024;
  const StrongScaling strong = predict_all(several_.get(), options).strong.at(0);
  EXPECT_EQ(strong.points.at(0).batch_per_worker, 64);
  EXPECT_NEAR(strong.points.at(0).step_s / synthetic::true_step_s(at_batch(64), 16), 1.0, 0.06);
  const auto alone = predict_strong_scaling(std::make_shared<const Models>(fit_models(several_.get())), options);
  EXPECT_EQ(alone.at(0).points.at(0).step_s, strong.points.at(0).step_s);
}

// Regression: a measured configuration was predicted from another batch. Here both contradict each other: the run with
// the larger batch was disturbed.
TEST_F(StrongScalingTest, AMeasuredConfigurationHasItsMeasuredStep) {
  several_.get().sql().exec(
      "UPDATE step SET duration_ns = 3 * duration_ns WHERE shard_id IN (SELECT s.id FROM shard s JOIN measurement m ON "
      "m.id = s.measurement_id WHERE m.world_size = 2 AND m.batch_per_worker = 64)");
  const StrongScaling strong = predict_all(several_.get(), asked({2, 4})).strong.at(0);
  EXPECT_NEAR(strong.points.at(0).step_s / (3.0 * synthetic::true_step_s(at_batch(64), 2)), 1.0, 0.01);
  EXPECT_LE(strong.points.at(0).low_s, strong.points.at(0).step_s);
  EXPECT_GE(strong.points.at(0).high_s, strong.points.at(0).step_s);
  EXPECT_NEAR(strong.points.at(1).step_s / synthetic::true_step_s(at_batch(32), 4), 1.0, 0.06);
}

// Regression: a global batch that the script divides among its ranks. The reason was that no all-reduce was measured.
TEST(StrongScaling, EveryNWithAnotherBatchIsRefusedWithTheReason) {
  TemporaryDatabase one("strong-global");
  synthetic::add_ddp(one.get(), at_batch(64), {1}, 1);
  synthetic::add_ddp(one.get(), at_batch(32), {2}, 2);
  std::string reasons;
  try {
    for (const Note& note : predict_all(one.get(), asked({1, 4})).notes) reasons += note.message + "\n";
  } catch (const NotSupported& error) {
    reasons = error.what();
  }
  EXPECT_THAT(reasons, HasSubstr("N = 2 was measured with a batch of 32 per worker, and not of 64"));
}

// With one batch nothing shows how compute grows with it.
TEST(StrongScaling, IsRefusedWithOneBatch) {
  TemporaryDatabase one("strong-one");
  synthetic::add_ddp(one.get(), gpus(), {1, 2, 4}, 1);
  PredictOptions options = asked({4, 8});
  EXPECT_THAT(predict_all(one.get(), options).strong, IsEmpty());
  options.global_batch = 128;
  const StrongScaling strong = predict_all(one.get(), options).strong.at(0);
  EXPECT_EQ(strong.points.at(0).refusal, "") << "the measured batch";
  EXPECT_THAT(strong.points.at(1).refusal, HasSubstr("the only measured batch per worker is 32: measure it"));
}

}  // namespace
}  // namespace ddpprof::fit
