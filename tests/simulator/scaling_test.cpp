// The knee, and the linear learning-rate rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/learning_rate/linear_rule.hpp"
#include "simulator/scaling/knee.hpp"

namespace ddpprof {
namespace {

TEST(Scaling, KneeIsTheSmallestWorkerCountOverTheShare) {
  const std::vector<scaling::ScalingPoint> points = {{64, 1.0, 0.6}, {8, 1.0, 0.2}, {16, 1.0, 0.21}, {32, 1.0, 0.4}};
  EXPECT_EQ(scaling::knee(points, 0.2), 16);
  EXPECT_EQ(scaling::knee(points, 0.9), std::nullopt);
  EXPECT_THROW(scaling::knee(points, 0.0), std::invalid_argument);
}

using namespace learning_rate;

Plan imagenet(std::int64_t workers) {
  // Goyal et al. 2017: 32 samples a worker, lr 0.1 tuned for 256, 5 warm-up epochs of 90; ImageNet's 1,281,167 images.
  Plan plan;
  plan.workers = workers;
  plan.batch_per_worker = 32;
  plan.base_batch = 256;
  plan.base_lr = 0.1;
  plan.samples = 1281167;
  return plan;
}

TEST(LinearRule, GoyalsEightThousandImagesOn256Workers) {
  const Schedule schedule = linear_rule(imagenet(256));
  EXPECT_EQ(schedule.global_batch, 8192);
  EXPECT_DOUBLE_EQ(schedule.target_lr, 3.2);
  // ceil(1281167 / 256) = 5005 samples a worker, 157 steps of 32 an epoch.
  EXPECT_EQ(schedule.steps_per_epoch, 157);
  EXPECT_EQ(schedule.warmup_steps, 785);
  EXPECT_TRUE(schedule.warnings.empty());
}

TEST(LinearRule, WarmUpRisesEvenlyFromBaseToTarget) {
  const Schedule schedule = linear_rule(imagenet(256));
  EXPECT_DOUBLE_EQ(schedule.lr_at(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.lr_at(schedule.warmup_steps), 3.2);
  EXPECT_DOUBLE_EQ(schedule.lr_at(schedule.warmup_steps + 1000), 3.2);
  const double increment = (3.2 - 0.1) / 785.0;
  for (std::int64_t step = 1; step <= 785; ++step) {
    ASSERT_NEAR(schedule.lr_at(step) - schedule.lr_at(step - 1), increment, 1e-12) << step;
  }
  EXPECT_THROW(schedule.lr_at(-1), std::invalid_argument);
}

TEST(LinearRule, BaseBatchNeedsNoWarmUp) {
  const Schedule schedule = linear_rule(imagenet(8));
  EXPECT_DOUBLE_EQ(schedule.kappa, 1.0);
  EXPECT_DOUBLE_EQ(schedule.target_lr, 0.1);
  EXPECT_EQ(schedule.warmup_steps, 0);
  EXPECT_DOUBLE_EQ(schedule.lr_at(0), 0.1);
}

TEST(LinearRule, SaysWhereItIsDoubtful) {
  const auto has = [](const Schedule& schedule, Warning warning) {
    return std::count(schedule.warnings.begin(), schedule.warnings.end(), warning) == 1;
  };
  EXPECT_TRUE(has(linear_rule(imagenet(257)), Warning::beyond_validated_batch));
  EXPECT_TRUE(has(linear_rule(imagenet(4)), Warning::below_base_batch));
  Plan adam = imagenet(64);
  adam.adaptive_optimizer = true;
  EXPECT_TRUE(has(linear_rule(adam), Warning::adaptive_optimizer));
  Plan brief = imagenet(64);
  brief.epochs = 3;
  EXPECT_TRUE(has(linear_rule(brief), Warning::warmup_exceeds_training));
}

TEST(LinearRule, StepsFollowTheDistributedSampler) {
  // 10,000 samples over 4 ranks: 2,500 each, 79 batches of 32, the last one short.
  EXPECT_EQ(steps_per_epoch(10000, 4, 32, false), 79);
  // 10 over 4: 3 each, padded; with drop_last ceil((10 - 4) / 4) = 2.
  EXPECT_EQ(steps_per_epoch(10, 4, 1, false), 3);
  EXPECT_EQ(steps_per_epoch(10, 4, 1, true), 2);
  EXPECT_EQ(steps_per_epoch(12, 4, 1, true), 3);
  EXPECT_THROW(steps_per_epoch(0, 4, 1, false), std::invalid_argument);
}

TEST(LinearRule, RefusesWhatCannotBe) {
  Plan plan = imagenet(8);
  plan.base_lr = 0.0;
  EXPECT_THROW(linear_rule(plan), std::invalid_argument);
  plan = imagenet(8);
  plan.warmup_epochs = std::nan("");
  EXPECT_THROW(linear_rule(plan), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof
