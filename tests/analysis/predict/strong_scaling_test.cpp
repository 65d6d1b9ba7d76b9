// A fixed global batch divided among the workers, where several batches per worker were measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const auto alone = predict_strong_scaling(several_.get(), options);
  EXPECT_EQ(alone.at(0).points.at(0).step_s, strong.points.at(0).step_s);
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
