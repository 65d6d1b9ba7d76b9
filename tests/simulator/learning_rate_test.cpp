// The square-root rule and Adam's other settings: expectations worked out by hand from the rules' equations.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/learning_rate/square_root_rule.hpp"
#include "simulator/stats/binomial.hpp"

namespace ddpprof::learning_rate {
namespace {

Plan plan_of(std::int64_t workers, bool adaptive) {
  Plan plan;
  plan.workers = workers;
  plan.batch_per_worker = 256;
  plan.base_batch = 256;
  plan.base_lr = 0.1;
  plan.samples = 1'281'167;
  plan.adaptive_optimizer = adaptive;
  return plan;
}

// kappa = 16: the linear rule gives 1.6, the square root 0.4.
TEST(SquareRootRule, RaisesTheRateByTheRootOfKappa) {
  const Schedule linear = linear_rule(plan_of(16, false)), root = square_root_rule(plan_of(16, false));
  EXPECT_DOUBLE_EQ(linear.target_lr, 1.6);
  EXPECT_DOUBLE_EQ(root.target_lr, 0.4);
  EXPECT_EQ(root.warmup_steps, linear.warmup_steps);
  EXPECT_EQ(root.global_batch, 4096);
  EXPECT_DOUBLE_EQ(root.lr_at(0), 0.1);
  EXPECT_EQ(root.warmup_steps, 5 * 313) << "ceil(ceil(1281167 / 16) / 256) steps an epoch";
  EXPECT_DOUBLE_EQ(root.lr_at(313), 0.1 + 0.3 / 5.0);
  EXPECT_DOUBLE_EQ(root.lr_at(root.warmup_steps), 0.4);
}

TEST(SquareRootRule, DoubtsItselfForSgdWhereTheLinearRuleDoubtsItselfForAdam) {
  using Warnings = std::vector<Warning>;
  EXPECT_EQ(square_root_rule(plan_of(16, false)).warnings, Warnings{Warning::sgd_prefers_linear});
  EXPECT_EQ(linear_rule(plan_of(16, false)).warnings, Warnings{});
  EXPECT_EQ(square_root_rule(plan_of(16, true)).warnings, Warnings{});
  EXPECT_EQ(linear_rule(plan_of(16, true)).warnings, Warnings{Warning::adaptive_optimizer});
  EXPECT_EQ(square_root_rule(plan_of(1, false)).warnings, Warnings{}) << "at the base batch both rules are the base rate";
  EXPECT_EQ(linear_rule(plan_of(64, false)).warnings, Warnings{Warning::beyond_validated_batch});
  EXPECT_EQ(square_root_rule(plan_of(64, true)).warnings, Warnings{}) << "8192 is the linear rule's";
  EXPECT_EQ(square_root_rule(plan_of(64, false)).warnings, Warnings{Warning::sgd_prefers_linear});
  Plan brief = plan_of(16, true);
  brief.epochs = 2;
  EXPECT_EQ(square_root_rule(brief).warnings, Warnings{Warning::warmup_exceeds_training}) << "it holds for any rule";
}

TEST(SquareRootRule, ScalesAdamsOtherSettings) {
  const ScaledAdam four = scale_adam({0.9, 0.999, 1e-8}, 4.0);
  EXPECT_TRUE(four.valid);
  EXPECT_NEAR(four.settings.beta1, 0.6, 1e-12);
  EXPECT_NEAR(four.settings.beta2, 0.996, 1e-12);
  EXPECT_DOUBLE_EQ(four.settings.epsilon, 5e-9);
  EXPECT_FALSE(scale_adam({0.9, 0.999, 1e-8}, 16.0).valid) << "16 * 0.1 is above 1";
  EXPECT_THROW(scale_adam({0.9, 0.999, 1e-8}, 0.0), std::invalid_argument);
  EXPECT_THROW(scale_adam({1.0, 0.999, 1e-8}, 2.0), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::learning_rate

namespace ddpprof::stats {
namespace {

// Binomial(4, 1/2): 1, 4, 6, 4, 1 of 16.
TEST(BinomialUpperTail, IsTheSumOfItsTerms) {
  EXPECT_NEAR(binomial_upper_tail(4, 4, 0.5), 1.0 / 16.0, 1e-14);
  EXPECT_NEAR(binomial_upper_tail(4, 3, 0.5), 5.0 / 16.0, 1e-14);
  EXPECT_NEAR(binomial_upper_tail(4, 1, 0.5), 15.0 / 16.0, 1e-14);
  EXPECT_NEAR(binomial_upper_tail(3, 2, 0.25), 3 * 0.0625 * 0.75 + 0.015625, 1e-14);
  EXPECT_NEAR(binomial_upper_tail(400, 400, 0.5) * std::pow(2.0, 400), 1.0, 1e-9);
  EXPECT_EQ(binomial_upper_tail(4000, 4000, 0.25), 0.0) << "too small for a double, yet a number";
  EXPECT_EQ(binomial_upper_tail(4, 0, 0.5), 1.0);
  EXPECT_EQ(binomial_upper_tail(4, 5, 0.5), 0.0);
  EXPECT_EQ(binomial_upper_tail(0, 1, 0.5), 0.0);
  EXPECT_EQ(binomial_upper_tail(4, 4, 1.0), 1.0);
  EXPECT_EQ(binomial_upper_tail(4, 1, 0.0), 0.0);
  EXPECT_THROW(binomial_upper_tail(-1, 0, 0.5), std::invalid_argument);
  EXPECT_THROW(binomial_upper_tail(1, 0, 1.5), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::stats
