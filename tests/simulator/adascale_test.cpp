// AdaScale step by step, against its formulas (Johnson et al. 2020, algorithm 1 and appendix B.3) and on trainings
// whose outcome is known.
#include "simulator/learning_rate/adascale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "simulator/learning_rate/large_batch.hpp"

namespace ddpprof::learning_rate {
namespace {

// 100 steps an epoch at the base batch of 16, four epochs.
Plan plan(std::int64_t workers = 8) {
  Plan plan;
  plan.workers = workers;
  plan.batch_per_worker = 16;
  plan.base_batch = 16;
  plan.base_lr = 0.1;
  plan.samples = 1600;
  plan.epochs = 4;
  return plan;
}

TEST(AdaScale, GainIsThatOfTheNoiseScale) {
  // phi = 80 samples: r = 8 (80 + 16) / (80 + 128).
  AdaScale adascale(plan(), 8);
  EXPECT_EQ(adascale.gain(), 1.0);
  EXPECT_DOUBLE_EQ(adascale.step(NoiseSample{2.0, 160.0}), 0.1 * 768.0 / 208.0);
  EXPECT_DOUBLE_EQ(adascale.gain(), scaling_gain(80.0, 16.0, 128.0));
  EXPECT_DOUBLE_EQ(adascale.state().base_steps, 768.0 / 208.0);
}

TEST(AdaScale, NoNoiseAllowsNoGainAndNoiseAloneAllowsAllOfIt) {
  AdaScale still(plan(), 8), noisy(plan(), 8), nothing(plan(), 8);
  still.step(NoiseSample{3.0, 0.0});
  noisy.step(NoiseSample{0.0, 5.0});
  nothing.step(NoiseSample{0.0, 0.0});
  EXPECT_EQ(still.gain(), 1.0);
  EXPECT_EQ(noisy.gain(), 8.0);
  EXPECT_EQ(nothing.gain(), 1.0);
}

TEST(AdaScale, EstimatesBelowZeroCountAsZero) {
  AdaScale adascale(plan(), 8);
  adascale.step(NoiseSample{-4.0, 32.0});
  EXPECT_EQ(adascale.gain(), 8.0);
  adascale.step(NoiseSample{4.0, -32.0});
  // Means of 0 and 4, of 32 and 0: sigma^2 = 1, mu^2 = 2.
  EXPECT_DOUBLE_EQ(adascale.gain(), 3.0 / (0.125 + 2.0));
}

TEST(AdaScale, AveragesAllStepsAtFirstAndThenForgets) {
  // S = 500: theta = 0.5. A mean of the first two, then half of what was before.
  AdaScale adascale(plan(), 500);
  adascale.step(NoiseSample{1.0, 0.0});
  EXPECT_DOUBLE_EQ(adascale.state().average.gradient_sqr, 1.0);
  adascale.step(NoiseSample{3.0, 0.0});
  EXPECT_DOUBLE_EQ(adascale.state().average.gradient_sqr, 2.0);
  adascale.step(NoiseSample{6.0, 0.0});
  EXPECT_DOUBLE_EQ(adascale.state().average.gradient_sqr, 4.0);
  adascale.step(NoiseSample{0.0, 0.0});
  EXPECT_DOUBLE_EQ(adascale.state().average.gradient_sqr, 2.0);
  // S = 8: theta = 0.992, a mean of the first 125, and from then on 0.008 for each.
  AdaScale slow(plan(), 8);
  for (int i = 0; i < 125; ++i) slow.step(NoiseSample{static_cast<double>(i), 0.0});
  EXPECT_NEAR(slow.state().average.gradient_sqr, 62.0, 1e-12);
  slow.step(NoiseSample{1062.0, 0.0});
  EXPECT_NEAR(slow.state().average.gradient_sqr, 70.0, 1e-12);
  // A thousand and more remember nothing.
  AdaScale none(plan(), 1000);
  none.step(NoiseSample{1.0, 0.0});
  none.step(NoiseSample{7.0, 0.0});
  EXPECT_EQ(none.state().average.gradient_sqr, 7.0);
}

TEST(AdaScale, UnknownGradientsLeaveTheGainAsItWas) {
  AdaScale adascale(plan(), 8);
  adascale.step(NoiseSample{2.0, 160.0});
  const double gain = adascale.gain(), infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(adascale.step(std::nullopt), 0.1 * gain);
  EXPECT_EQ(adascale.step(NoiseSample{infinite, 1.0}), 0.1 * gain);
  EXPECT_EQ(adascale.step(NoiseSample{1.0, -infinite}), 0.1 * gain);
  EXPECT_EQ(adascale.state().steps, 1);
  EXPECT_DOUBLE_EQ(adascale.state().base_steps, 4.0 * gain);
}

TEST(AdaScale, DecaysAndEndsByBaseSteps) {
  // A gain of 8: 400 base steps take 50. The rate falls at epoch 2, base step 200, which is before the 26th step.
  Plan falling = plan();
  falling.decay.kind = DecayKind::step;
  falling.decay.at_epochs = {2.0};
  AdaScale adascale(falling, 8);
  EXPECT_EQ(adascale.base_training_steps(), 400);
  for (int step = 0; step < 50; ++step) {
    EXPECT_FALSE(adascale.done()) << step;
    EXPECT_DOUBLE_EQ(adascale.step(NoiseSample{0.0, 1.0}), step < 25 ? 0.8 : 0.08) << step;
  }
  EXPECT_TRUE(adascale.done());
  // Steps that are taken all the same stay at the last one's rate.
  EXPECT_DOUBLE_EQ(adascale.step(NoiseSample{0.0, 1.0}), 0.08);
}

TEST(AdaScale, OfTheBaseBatchIsTheBaseBatchsTraining) {
  Plan one = plan(1);
  one.decay.kind = DecayKind::cosine;
  AdaScale adascale(one, 1);
  const Schedule base = base_schedule(one);
  for (std::int64_t step = 0; step < 400; ++step) EXPECT_EQ(adascale.step(std::nullopt), base.lr_at(step)) << step;
  EXPECT_TRUE(adascale.done());
}

TEST(AdaScale, GoesOnFromItsState) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(1.0, 2.0);
  const auto sample = [&] { return NoiseSample{normal(random), 30.0 * normal(random)}; };
  AdaScale whole(plan(), 8);
  for (int i = 0; i < 40; ++i) whole.step(sample());
  AdaScale again(plan(), 8, whole.state());
  EXPECT_EQ(again.gain(), whole.gain());
  for (int i = 0; i < 40; ++i) {
    const NoiseSample next = sample();
    EXPECT_EQ(whole.step(next), again.step(next));
  }
  EXPECT_EQ(whole.state(), again.state());
}

TEST(AdaScale, TakesAStateOfAnotherBaseBatchOverByItsSamples) {
  AdaScale whole(plan(), 8);
  for (int i = 0; i < 10; ++i) whole.step(NoiseSample{0.0, 1.0});
  EXPECT_EQ(whole.state().base_steps, 80.0);
  EXPECT_EQ(whole.state().base_batch, 16);
  Plan other = plan();
  other.base_batch = 64;
  const AdaScale again(other, 8, whole.state());
  EXPECT_EQ(again.state().base_steps, 20.0) << "80 steps of 16 samples are 20 of 64";
  EXPECT_EQ(again.state().base_batch, 64);
  EXPECT_EQ(again.base_training_steps(), 100);
}

TEST(AdaScale, RefusesWhatHasNoGain) {
  EXPECT_THROW(AdaScale(plan(), 0), std::invalid_argument);
  try {
    AdaScale(plan(8), 1);
    FAIL() << "a single gradient of another batch than the base batch";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("accumulation"), std::string::npos) << error.what();
  }
  AdaScaleState broken;
  broken.average.trace = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(AdaScale(plan(), 8, broken), std::invalid_argument);
  broken = {};
  broken.base_steps = -1.0;
  EXPECT_THROW(AdaScale(plan(), 8, broken), std::invalid_argument);
}

// Gradient descent on |w|^2 / 2 in 50 dimensions, each sample's gradient w + noise of one standard deviation, by S
// ranks of one sample each: what AdaScale is for. Returns the loss after the training's base steps, and the steps it
// took.
struct Outcome {
  double loss = 0.0;
  std::int64_t steps = 0;
};
Outcome train(std::int64_t ranks, double base_lr, double deviation, bool adapt) {
  constexpr int dimensions = 50;
  Plan own;
  own.workers = ranks;
  own.base_batch = own.batch_per_worker = 1;
  own.base_lr = base_lr;
  own.samples = 400;
  own.epochs = 1;
  AdaScale adascale(own, ranks);
  std::mt19937_64 random(static_cast<std::uint64_t>(ranks));
  std::normal_distribution<double> noise(0.0, deviation);
  std::vector<double> weights(dimensions, 1.0);
  Outcome outcome;
  const std::int64_t fixed = adascale.base_training_steps() / ranks;
  while (adapt ? !adascale.done() : outcome.steps < fixed) {
    std::vector<double> mean(dimensions, 0.0), norms_sqr;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      double norm_sqr = 0.0;
      for (int i = 0; i < dimensions; ++i) {
        const double gradient = weights[i] + noise(random);
        norm_sqr += gradient * gradient;
        mean[i] += gradient / static_cast<double>(ranks);
      }
      norms_sqr.push_back(norm_sqr);
    }
    double mean_sqr = 0.0;
    for (const double one : mean) mean_sqr += one * one;
    const double rate =
        adapt ? adascale.step(noise_of_step(norms_sqr, mean_sqr, 1, 1)) : base_lr * static_cast<double>(ranks);
    for (int i = 0; i < dimensions; ++i) weights[i] -= rate * mean[i];
    ++outcome.steps;
  }
  for (const double weight : weights) outcome.loss += weight * weight / 2.0;
  return outcome;
}

TEST(AdaScale, KeepsATrainingThatTheLinearRuleBreaks) {
  // 64 times a rate of 0.05 is 3.2: the linear rule's steps leap over the bottom further each time.
  EXPECT_GT(train(64, 0.05, 1.0, false).loss, 1e2);
  const Outcome adapted = train(64, 0.05, 1.0, true), base = train(1, 0.05, 1.0, true);
  EXPECT_EQ(base.steps, 400);
  EXPECT_LE(adapted.loss, base.loss);
  EXPECT_LT(adapted.steps, base.steps / 5);
  EXPECT_GT(adapted.steps, base.steps / 64) << "the steps that the linear rule had hoped for";
}

TEST(AdaScale, TakesAlmostTheLinearRulesStepsWhereNoiseIsAllThereIs) {
  // Noise of a hundred times the gradient's length: eight ranks are worth nearly eight steps. Not quite, since
  // estimates of |G|^2 below 0 count as 0, and their mean is above what it should be.
  const Outcome adapted = train(8, 1e-4, 100.0, true);
  EXPECT_GE(adapted.steps, 50);
  EXPECT_LE(adapted.steps, 58);
}

TEST(NoiseOfStep, SaysNothingWhereThereIsNoDifferenceToSee) {
  const std::vector<double> one{2.0}, two{2.0, 4.0}, lost{2.0, std::nan("")};
  EXPECT_FALSE(noise_of_step(one, 1.0, 8, 1));
  EXPECT_FALSE(noise_of_step({}, 1.0, 8, 2));
  EXPECT_FALSE(noise_of_step(lost, 1.0, 8, 1));
  EXPECT_FALSE(noise_of_step(two, -1.0, 8, 1));
  EXPECT_FALSE(noise_of_step(two, 1.0, 0, 1));
  EXPECT_FALSE(noise_of_step(one, 1.0, 8, 0));
  // Two ranks of 8: |G|^2 = (16 - 24 / 1) / 8 with the mean of 3; one rank's first of two micro-batches of 4.
  const auto ranks = noise_of_step(two, 2.0, 8, 2);
  ASSERT_TRUE(ranks);
  EXPECT_DOUBLE_EQ(ranks->gradient_sqr, 2.0 * 2.0 - 3.0);
  EXPECT_DOUBLE_EQ(ranks->trace, (3.0 - 2.0) * 16.0);
  const auto alone = noise_of_step(one, 1.5, 8, 2);
  ASSERT_TRUE(alone);
  EXPECT_DOUBLE_EQ(alone->gradient_sqr, 2.0 * 1.5 - 2.0);
  EXPECT_DOUBLE_EQ(alone->trace, (2.0 - 1.5) * 8.0);
}

}  // namespace
}  // namespace ddpprof::learning_rate
