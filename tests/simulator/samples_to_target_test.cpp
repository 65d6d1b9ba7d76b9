// Samples to a target at another batch: made trainings whose law is known, limits, and the tuned rates.
#include "simulator/learning_rate/samples_to_target.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "simulator/learning_rate/learned_target.hpp"

namespace ddpprof::learning_rate {
namespace {

// E = E_min (1 + B / B_crit), with E_min = 1e6.
std::vector<BatchSamples> made(std::initializer_list<double> batches, double critical) {
  std::vector<BatchSamples> all;
  for (const double batch : batches) all.push_back({batch, 1e6 * (1.0 + batch / critical)});
  return all;
}

stats::Interval at(const std::vector<BatchSamples>& measured, double batch, double confidence = 0.9) {
  return samples_to_target(measured, batch, learned_target, confidence);
}

TEST(SamplesToTarget, FollowsTheLawOfMadeTrainings) {
  for (const double critical : {500.0, 2000.0, 8000.0}) {
    const auto measured = made({256, 512, 1024, 2048, 4096}, critical);
    for (const double batch : {4096.0, 8192.0, 16384.0}) {
      const double expected = 1e6 * (1.0 + batch / critical);
      const stats::Interval predicted = at(measured, batch);
      EXPECT_NEAR(predicted.mid / expected, 1.0, 0.08) << critical << ", " << batch;
      EXPECT_LT(predicted.low, expected);
      EXPECT_GT(predicted.high, expected);
    }
  }
}

TEST(SamplesToTarget, DoesNotDependOnUnitsOrOrder) {
  auto measured = made({256, 512, 1024}, 1000.0);
  const stats::Interval samples = at(measured, 4096.0);
  std::swap(measured[0], measured[2]);
  for (BatchSamples& one : measured) one.samples /= 1e6;
  const stats::Interval epochs = at(measured, 4096.0);
  EXPECT_NEAR(epochs.mid * 1e6, samples.mid, 1e-3 * samples.mid);
  EXPECT_NEAR(epochs.low * 1e6, samples.low, 1e-3 * samples.low);
  EXPECT_NEAR(epochs.high * 1e6, samples.high, 1e-3 * samples.high);
}

TEST(SamplesToTarget, IsWiderFartherAwayAndWithFewerBatches) {
  const auto width = [](const stats::Interval& one) { return std::log(one.high / one.low); };
  const auto three = made({256, 512, 1024}, 1000.0), one = made({1024}, 1000.0);
  EXPECT_LT(width(at(three, 2048.0)), width(at(three, 8192.0)));
  EXPECT_LT(width(at(three, 2048.0)), width(at(one, 2048.0)));
  EXPECT_LT(width(at(three, 2048.0, 0.5)), width(at(three, 2048.0, 0.9)));
  EXPECT_LT(width(at(three, 700.0)), width(at(three, 2048.0))) << "between measured batches";
}

// One measured batch: between as many samples and as many steps, which are kappa times the samples.
TEST(SamplesToTarget, FromOneBatchLiesBetweenTheLimits) {
  const stats::Interval predicted = at({{1024.0, 1e6}}, 4096.0);
  EXPECT_GT(predicted.mid, 1e6);
  EXPECT_LT(predicted.mid, 4e6);
}

// The density of ln(samples) has an integral of 1 and its quantiles are the interval's (without widening).
TEST(SamplesToTarget, DensityAndIntervalAgree) {
  TargetConstants constants = learned_target;
  constants.widening = 1.0;
  const auto measured = made({256, 512, 1024}, 1000.0);
  const SamplesLaw law(measured, 4096.0, constants.scatter, constants.drift);
  const stats::Interval interval = law.interval(constants, 0.9);
  const auto integral = [&](double from, double to) {
    double sum = 0.0;
    const double step = (to - from) / 4000.0;
    for (int i = 0; i < 4000; ++i) sum += step * law.density(from + (i + 0.5) * step, constants);
    return sum;
  };
  EXPECT_NEAR(integral(std::log(interval.mid) - 8.0, std::log(interval.mid) + 8.0), 1.0, 2e-3);
  EXPECT_NEAR(integral(std::log(interval.low), std::log(interval.high)), 0.9, 2e-3);
  EXPECT_NEAR(integral(std::log(interval.mid), std::log(interval.high)), 0.45, 2e-3);
}

TEST(SamplesToTarget, RejectsValuesThatAreNotAboveZero) {
  EXPECT_THROW(at({}, 64.0), std::invalid_argument);
  EXPECT_THROW(at({{0.0, 1e6}}, 64.0), std::invalid_argument);
  EXPECT_THROW(at({{32.0, -1.0}}, 64.0), std::invalid_argument);
  EXPECT_THROW(at({{32.0, 1e6}}, INFINITY), std::invalid_argument);
  EXPECT_THROW(at({{32.0, 1e6}}, 64.0, 1.0), std::invalid_argument);
}

TEST(TunedRate, IsAPowerOfTheRatioOfBatches) {
  const TunedExponents exponents{0.0, 0.5, 1.0};
  const stats::Interval larger = tuned_rate(exponents, 0.1, 4.0), smaller = tuned_rate(exponents, 0.1, 0.25);
  EXPECT_DOUBLE_EQ(larger.low, 0.1);
  EXPECT_DOUBLE_EQ(larger.mid, 0.2);
  EXPECT_DOUBLE_EQ(larger.high, 0.4);
  EXPECT_DOUBLE_EQ(smaller.low, 0.025);
  EXPECT_DOUBLE_EQ(smaller.high, 0.1);
  EXPECT_THROW(tuned_rate(exponents, 0.0, 4.0), std::invalid_argument);
  EXPECT_THROW(tuned_rate(exponents, 0.1, NAN), std::invalid_argument);
}

}  // namespace
}  // namespace ddpprof::learning_rate
