// The learning-rate rules against what their papers print, step for step, and the decays against their equations.
#include "simulator/learning_rate/rules.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "simulator/learning_rate/layerwise.hpp"
#include "simulator/learning_rate/square_root_rule.hpp"

namespace ddpprof::learning_rate {
namespace {

using Warnings = std::vector<Warning>;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Goyal et al. 2017, section 5.1: ResNet-50, 32 images a GPU, rate 0.1 kn / 256, 5 epochs of warm-up, a tenth at epochs
// 30, 60 and 80 of 90.
Plan resnet50(std::int64_t gpus) {
  Plan plan;
  plan.workers = gpus;
  plan.batch_per_worker = 32;
  plan.base_batch = 256;
  plan.base_lr = 0.1;
  plan.samples = 1'281'167;
  plan.warmup_epochs = 5.0;
  plan.epochs = 90;
  plan.decay.kind = DecayKind::step;
  return plan;
}

TEST(ResNet50Recipe, HasThePublishedRateAtEveryStep) {
  const struct {
    std::int64_t gpus, steps_per_epoch;  // ceil(ceil(1281167 / gpus) / 32)
    double target;
  } published[] = {{8, 5005, 0.1},  {16, 2503, 0.2}, {32, 1252, 0.4}, {64, 626, 0.8},
                   {128, 313, 1.6}, {256, 157, 3.2}, {512, 79, 6.4},  {1024, 40, 12.8}};
  for (const auto& row : published) {
    const Schedule schedule = schedule_of(Rule::linear, resnet50(row.gpus));
    ASSERT_EQ(schedule.steps_per_epoch, row.steps_per_epoch) << row.gpus;
    ASSERT_EQ(schedule.total_steps, 90 * row.steps_per_epoch);
    EXPECT_NEAR(schedule.target_lr, row.target, 1e-12 * row.target) << row.gpus;
    for (std::int64_t step = 0; step < schedule.total_steps; ++step) {
      const std::int64_t epoch = step / row.steps_per_epoch;
      const double part = static_cast<double>(step) / static_cast<double>(row.steps_per_epoch);
      const double expected = epoch < 5    ? 0.1 + (row.target - 0.1) * part / 5.0
                              : epoch < 30 ? row.target
                              : epoch < 60 ? row.target / 10.0
                              : epoch < 80 ? row.target / 100.0
                                           : row.target / 1000.0;
      ASSERT_NEAR(schedule.lr_at(step), expected, 1e-12 * expected) << row.gpus << " GPUs, step " << step;
    }
  }
}

// In the paper, the rule held for batches up to 8k; table 3 and figure 1 show the loss of accuracy beyond.
TEST(ResNet50Recipe, IsDoubtedBeyondTheBatchItWasShownFor) {
  EXPECT_EQ(schedule_of(Rule::linear, resnet50(256)).warnings, Warnings{});
  EXPECT_EQ(schedule_of(Rule::linear, resnet50(512)).warnings, Warnings{Warning::beyond_validated_batch});
  EXPECT_EQ(schedule_of(Rule::lars, resnet50(512)).warnings, Warnings{}) << "LARS was shown up to 32k";
  EXPECT_EQ(schedule_of(Rule::lars, resnet50(2048)).warnings, Warnings{Warning::beyond_layerwise_batch});
}

// You et al. 2020, the untuned BERT recipe: batch, rate 5 / (2^(3 - k/2) 10^3), share of the steps that warms up,
// steps.
TEST(LambRecipe, HasThePublishedRatesWarmupsAndSteps) {
  Plan plan;
  plan.batch_per_worker = 512;
  plan.base_batch = 512;
  plan.base_lr = 5.0 / 8000.0;
  plan.samples = 512'000'000;
  plan.epochs = 1;
  plan.warmup_epochs = 1.0 / 320.0;
  plan.adaptive_optimizer = true;
  plan.decay.kind = DecayKind::polynomial;
  const struct {
    std::int64_t batch;
    double rate, warmup_share;
    std::int64_t steps;
  } published[] = {{512, 5.0 / (std::pow(2.0, 3.0) * 1e3), 1.0 / 320.0, 1'000'000},
                   {1024, 5.0 / (std::pow(2.0, 2.5) * 1e3), 1.0 / 160.0, 500'000},
                   {2048, 5.0 / (std::pow(2.0, 2.0) * 1e3), 1.0 / 80.0, 250'000},
                   {4096, 5.0 / (std::pow(2.0, 1.5) * 1e3), 1.0 / 40.0, 125'000},
                   {8192, 5.0 / (std::pow(2.0, 1.0) * 1e3), 1.0 / 20.0, 62'500},
                   {16384, 5.0 / (std::pow(2.0, 0.5) * 1e3), 1.0 / 10.0, 31'250},
                   {32768, 5.0 / 1e3, 1.0 / 5.0, 15'625}};
  for (const auto& row : published) {
    plan.workers = row.batch / 512;
    const Schedule schedule = schedule_of(Rule::lamb, plan);
    EXPECT_NEAR(schedule.target_lr, row.rate, 1e-12) << row.batch;
    EXPECT_EQ(schedule.total_steps, row.steps) << row.batch;
    EXPECT_EQ(static_cast<double>(schedule.warmup_steps), row.warmup_share * static_cast<double>(row.steps));
    EXPECT_EQ(schedule.lr_at(0), 0.0);
    EXPECT_DOUBLE_EQ(schedule.lr_at(schedule.warmup_steps), schedule.target_lr);
    EXPECT_NEAR(schedule.lr_at((schedule.warmup_steps + row.steps) / 2), row.rate / 2.0, row.rate * 1e-4)
        << "a straight line down to 0";
    EXPECT_EQ(schedule.warnings, Warnings{});
  }
  plan.workers = 128;
  EXPECT_EQ(schedule_of(Rule::lamb, plan).warnings, Warnings{Warning::beyond_layerwise_batch});
}

// phi = 256 = B0 and kappa = 4: r = 4 (256 + 256) / (256 + 1024) = 1.6.
TEST(AdaScale, TakesTheBaseBatchsStepsByItsGain) {
  Plan plan = resnet50(32);
  plan.noise_scale_samples = 256.0;
  const Schedule schedule = schedule_of(Rule::adascale, plan);
  EXPECT_DOUBLE_EQ(schedule.target_lr, 0.16);
  EXPECT_EQ(schedule.warmup_steps, 0);
  EXPECT_EQ(schedule.total_steps, std::llround(std::ceil(90.0 * 5005.0 / 1.6)));
  EXPECT_EQ(schedule.warnings, Warnings{Warning::gain_moves});
  // Epoch 30 of the base batch's is 30 · 5005 steps there, 93844 (93843.75) of these.
  EXPECT_DOUBLE_EQ(schedule.lr_at(93'843), 0.16);
  EXPECT_DOUBLE_EQ(schedule.lr_at(93'844), 0.016);
  plan.noise_scale_samples = 0.0;
  EXPECT_DOUBLE_EQ(schedule_of(Rule::adascale, plan).target_lr, 0.1) << "without noise a larger batch gives nothing";
  plan.noise_scale_samples = std::numeric_limits<double>::infinity();
  const Schedule noise = schedule_of(Rule::adascale, plan), linear = schedule_of(Rule::linear, resnet50(32));
  EXPECT_DOUBLE_EQ(noise.target_lr, linear.target_lr) << "… and where it is all noise, the linear rule's rate";
  EXPECT_NEAR(static_cast<double>(noise.total_steps), static_cast<double>(linear.total_steps), 90.0)
      << "one step an epoch: the linear rule's last batch is a short one";
}

TEST(Rules, DoubtWhatTheyWereNotShownFor) {
  Plan adam = resnet50(64);
  adam.adaptive_optimizer = true;
  adam.noise_scale_samples = 1000.0;
  EXPECT_EQ(schedule_of(Rule::linear, adam).warnings, Warnings{Warning::adaptive_optimizer});
  EXPECT_THAT(explain(Warning::adaptive_optimizer), HasSubstr("was shown for SGD"));
  EXPECT_EQ(schedule_of(Rule::lars, adam).warnings, Warnings{Warning::lars_is_for_sgd});
  EXPECT_EQ(schedule_of(Rule::adascale, adam).warnings, (Warnings{Warning::adascale_is_for_sgd, Warning::gain_moves}));
  EXPECT_EQ(schedule_of(Rule::none, adam).warnings, Warnings{Warning::rate_unscaled});
  EXPECT_EQ(schedule_of(Rule::none, resnet50(8)).warnings, Warnings{});
  const Schedule lamb = schedule_of(Rule::lamb, resnet50(64));
  EXPECT_EQ(lamb.warnings, Warnings{Warning::lamb_is_for_adam});
  for (const Rule rule : every_rule) {
    Plan low = resnet50(4);  // kappa 1/2
    low.noise_scale_samples = 1000.0;
    const bool scales = rule == Rule::linear || rule == Rule::square_root || rule == Rule::lars;
    EXPECT_EQ(std::ranges::count(schedule_of(rule, low).warnings, Warning::below_base_batch), scales)
        << to_string(rule);
    EXPECT_EQ(std::ranges::count(schedule_of(rule, low).warnings, Warning::gain_below_one), rule == Rule::adascale);
  }
}

// RMSprop averages squares only (its α is 0.99), Adagrad averages nothing: the limit of β₁ is not theirs.
TEST(Rules, SquareRootOfOptimizersWithoutAnAverageOfGradients) {
  Plan plan = resnet50(256);  // kappa 32
  plan.adaptive_optimizer = true;
  plan.adam = {0.0, 0.99, 1e-8};
  EXPECT_DOUBLE_EQ(schedule_of(Rule::square_root, plan).target_lr, 0.1 * std::sqrt(32.0));
  EXPECT_EQ(scale_adam(plan.adam, 32.0).settings.beta1, 0.0);
  EXPECT_NEAR(scale_adam(plan.adam, 32.0).settings.beta2, 0.68, 1e-12);
  plan.workers = 1024;  // kappa 128
  EXPECT_THAT(refusal(Rule::square_root, plan).value_or(""),
              AllOf(HasSubstr("for RMSprop"), HasSubstr("κ (1 − α) must be below 1"), Not(HasSubstr("β₁"))));
  plan.adam = {0.0, 0.0, 1e-8};
  EXPECT_EQ(refusal(Rule::square_root, plan), std::nullopt);
}

// Malladi et al. 2022: 1 - beta' = kappa (1 - beta), which no average has from 1 on. 10 (1 - 0.9) is that very limit.
TEST(Rules, RefuseWhereTheyHaveNoAnswer) {
  Plan adam = resnet50(72);  // kappa 9
  adam.adaptive_optimizer = true;
  EXPECT_EQ(refusal(Rule::square_root, adam), std::nullopt);
  EXPECT_DOUBLE_EQ(schedule_of(Rule::square_root, adam).target_lr, 0.3);
  adam.workers = 80;  // kappa 10
  const auto why = refusal(Rule::square_root, adam);
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("κ (1 − β₁) must be below 1"));
  EXPECT_THAT(*why, HasSubstr("below a global batch of 2560 samples"));
  EXPECT_THROW(schedule_of(Rule::square_root, adam), std::invalid_argument);
  adam.adaptive_optimizer = false;
  EXPECT_EQ(refusal(Rule::square_root, adam), std::nullopt) << "SGD has no betas";
  EXPECT_THAT(refusal(Rule::adascale, adam).value_or(""), HasSubstr("noise scale, which is not known"));
  EXPECT_THROW(schedule_of(Rule::adascale, adam), std::invalid_argument);
  adam.noise_scale_samples = -1.0;
  EXPECT_THROW(schedule_of(Rule::adascale, adam), std::invalid_argument);
}

Plan decaying(const Decay& decay) {
  Plan plan = resnet50(8);  // the base batch: no warm-up
  plan.decay = decay;
  return plan;
}

// (1 + cos(pi p)) / 2 and (1 - p)^2 at quarters of 450450 steps.
TEST(Decay, FollowsItsEquation) {
  Decay cosine;
  cosine.kind = DecayKind::cosine;
  const Schedule falls = schedule_of(Rule::linear, decaying(cosine));
  const std::int64_t all = falls.total_steps;
  ASSERT_EQ(all % 2, 0);
  EXPECT_DOUBLE_EQ(falls.lr_at(0), 0.1);
  EXPECT_NEAR(falls.lr_at(all / 2), 0.05, 1e-15);
  EXPECT_NEAR(falls.lr_at(all), 0.0, 1e-15);
  EXPECT_NEAR(falls.lr_at(all / 3), 0.1 * 0.75, 1e-6) << "cos 60 degrees is a half";
  EXPECT_EQ(falls.lr_at(2 * all), falls.lr_at(all)) << "after the end it stays";
  Decay square;
  square.kind = DecayKind::polynomial;
  square.power = 2.0;
  square.least_share = 0.2;
  const Schedule curve = schedule_of(Rule::linear, decaying(square));
  EXPECT_NEAR(curve.lr_at(all / 2), 0.1 * (0.2 + 0.8 * 0.25), 1e-15);
  EXPECT_NEAR(curve.lr_at(all), 0.02, 1e-15);
}

TEST(Decay, BeginsWhereTheWarmupEnds) {
  for (const DecayKind kind : {DecayKind::constant, DecayKind::step, DecayKind::cosine, DecayKind::polynomial}) {
    Plan plan = resnet50(256);
    plan.decay.kind = kind;
    const Schedule schedule = schedule_of(Rule::linear, plan);
    EXPECT_EQ(schedule.warmup_steps, 785);
    EXPECT_DOUBLE_EQ(schedule.lr_at(785), 3.2) << to_string(kind);
    EXPECT_DOUBLE_EQ(schedule.lr_at(784), 0.1 + 3.1 * 784.0 / 785.0) << to_string(kind);
    double before = schedule.lr_at(785);
    for (std::int64_t step = 786; step < schedule.total_steps; ++step) {
      ASSERT_LE(schedule.lr_at(step), before) << to_string(kind) << " at " << step;
      before = schedule.lr_at(step);
    }
    EXPECT_GT(before, 0.0) << "the last step still learns";
  }
}

TEST(Decay, RefusesWhatCannotBe) {
  Decay wrong;
  wrong.kind = DecayKind::step;
  wrong.at_epochs = {60.0, 30.0};
  EXPECT_THROW(schedule_of(Rule::linear, decaying(wrong)), std::invalid_argument);
  wrong.at_epochs = {30.0};
  wrong.factor = 1.5;
  EXPECT_THROW(check(wrong), std::invalid_argument);
  wrong.kind = DecayKind::polynomial;
  EXPECT_NO_THROW(check(wrong)) << "the factor is the steps' alone";
  wrong.power = 0.0;
  EXPECT_THROW(check(wrong), std::invalid_argument);
  wrong.kind = DecayKind::cosine;
  wrong.least_share = std::nan("");
  EXPECT_THROW(check(wrong), std::invalid_argument);
}

// You et al. 2017, table 2: AlexNet-BN's first layer at its first iteration has |w| / |g| = 0.098 / 0.017 = 5.76.
TEST(Layerwise, LarsIsTheRatioOfTheNorms) {
  EXPECT_NEAR(lars_local_rate(0.098, 0.017, {1.0, 0.0}), 5.76, 0.005);
  EXPECT_DOUBLE_EQ(lars_local_rate(2.0, 3.0, {0.001, 0.5}), 0.001 * 2.0 / 4.0);
  // The change of a layer, rate |g + lambda w|, is at most eta |w| and does not depend on the size of the gradient.
  EXPECT_DOUBLE_EQ(lars_local_rate(2.0, 3e-4, {0.001, 0.0}) * 3e-4, 0.002);
  EXPECT_DOUBLE_EQ(lars_local_rate(2.0, 3e+4, {0.001, 0.0}) * 3e+4, 0.002);
  EXPECT_EQ(lars_local_rate(0.0, 3.0, {}), 1.0) << "a bias that begins at 0";
  EXPECT_EQ(lars_local_rate(2.0, 0.0, {}), 1.0);
  EXPECT_THROW(lars_local_rate(-1.0, 1.0, {}), std::invalid_argument);
  EXPECT_THROW(lars_local_rate(1.0, std::nan(""), {}), std::invalid_argument);
}

TEST(Layerwise, LambMovesALayerByItsOwnSizeWithinBounds) {
  EXPECT_DOUBLE_EQ(lamb_trust_ratio(4.0, 8.0, {}), 0.5);
  EXPECT_DOUBLE_EQ(lamb_trust_ratio(40.0, 8.0, {}), 10.0 / 8.0);
  EXPECT_DOUBLE_EQ(lamb_trust_ratio(0.5, 8.0, {1.0, 10.0}), 1.0 / 8.0);
  EXPECT_EQ(lamb_trust_ratio(0.0, 8.0, {}), 1.0);
  EXPECT_EQ(lamb_trust_ratio(4.0, 0.0, {}), 1.0);
  EXPECT_THROW(lamb_trust_ratio(4.0, 8.0, {2.0, 1.0}), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::learning_rate
