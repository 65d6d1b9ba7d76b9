// Compute over the batch: laws whose truth is known, and data that cannot be.
#include "analysis/fit/batch_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>

#include "simulator/stats/random.hpp"

namespace ddpprof::fit {
namespace {

using testing::HasSubstr;

using Law = std::function<double(double)>;
constexpr double normal_90 = 1.6448536269514722;

// Beside the noise that a run knows of itself, runs differ by 2 %.
std::vector<BatchPoint> points_of(const Law& law, const std::vector<std::int64_t>& batches, double noise,
                                  std::uint64_t seed, const std::vector<std::int64_t>& workers = {1}) {
  stats::Random random(seed);
  const double scatter = noise > 0.0 ? std::hypot(noise, 0.02) : 0.0;
  std::vector<BatchPoint> points;
  for (const std::int64_t n : workers) {
    for (const std::int64_t batch : batches) {
      const double level = 1.0 + 0.3 * static_cast<double>(n - 1), off = std::exp(scatter * random.normal());
      points.push_back({n, batch, level * law(static_cast<double>(batch)) * off, noise, n});
    }
  }
  return points;
}

double line_s(double batch) { return 5e-3 + 0.2e-3 * batch; }
double proportional_s(double batch) { return 0.4e-3 * batch; }

TEST(BatchFit, ALinesPartsLieInTheirIntervalsNineTimesInTen) {
  constexpr int seeds = 400;
  int fixed = 0, sample = 0, lines = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const BatchFit fit = fit_batches(points_of(line_s, {8, 16, 32, 64, 128}, 0.04, seed));
    ASSERT_TRUE(fit.usable) << fit.status;
    if (!fit.laws.front().line) continue;
    ++lines;
    const BatchParameters found = fit.parameters();
    fixed += std::abs(found.values[0] - 5e-3) <= normal_90 * std::sqrt(found.covariance[0]);
    sample += std::abs(found.values[1] - 0.2e-3) <= normal_90 * std::sqrt(found.covariance[3]);
  }
  EXPECT_GE(lines, seeds * 95 / 100);
  EXPECT_NEAR(static_cast<double>(fixed) / lines, 0.9, 0.05);
  EXPECT_NEAR(static_cast<double>(sample) / lines, 0.9, 0.05);
  std::cout << "90 % intervals cover the fixed part " << fixed << ", the part a sample " << sample << " times of "
            << lines << '\n';
}

TEST(BatchFit, WithoutNoiseALineIsFoundAsItIs) {
  const BatchFit fit = fit_batches(points_of(line_s, {8, 32, 128}, 0.0, 1, {1, 2}));
  ASSERT_TRUE(fit.usable) << fit.status;
  const BatchParameters found = fit.parameters();
  ASSERT_EQ(found.names, (std::vector<std::string>{"compute_fixed", "compute_sample"}));
  EXPECT_NEAR(found.values[0] / 5e-3, 1.0, 0.02);
  EXPECT_NEAR(found.values[1] / 0.2e-3, 1.0, 0.02);
  for (const double batch : {8.0, 20.0, 128.0, 512.0})
    EXPECT_NEAR(fit.ratio(32.0, batch), line_s(batch) / line_s(32.0), 0.02 * line_s(batch) / line_s(32.0)) << batch;
  EXPECT_THAT(fit.status, HasSubstr("per sample at N = 1, fitted to batches 8, 32, 128: AICc lower by"));
  EXPECT_THAT(fit.status, HasSubstr("than for the batch to the power of 0."));
}

// The share of seeds in which the law's 90 % interval, drawn as predictions draw it, holds the true ratio.
double covered(const Law& law, const std::vector<std::int64_t>& batches, double from, double to) {
  constexpr int seeds = 200, draws = 200;
  const double truth = law(to) / law(from);
  int inside = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const BatchFit fit = fit_batches(points_of(law, batches, 0.04, seed));
    EXPECT_TRUE(fit.usable) << fit.status;
    stats::Random random(seed);
    std::vector<double> ratios;
    for (int i = 0; i < draws; ++i) {
      const BatchLaw& one = random.uniform() < fit.laws[0].weight ? fit.laws[0] : fit.laws[1];
      std::vector<double> normals(one.solution.x.size());
      for (double& normal : normals) normal = random.normal();
      const double own = draw(one.problem, one.solution, normals).front();
      ratios.push_back(one.growth(to, own) / one.growth(from, own) *
                       std::exp(batch_exponent_sd * fit.beyond(to) * random.normal()));
    }
    std::sort(ratios.begin(), ratios.end());
    inside += ratios[draws / 20] <= truth && truth <= ratios[draws - 1 - draws / 20];
  }
  std::cout << "the ratio of " << to << " to " << from << ": covered " << inside << " times of " << seeds << '\n';
  return static_cast<double>(inside) / seeds;
}

TEST(BatchFit, ItsIntervalCoversBetweenTheBatchesAndBeyond) {
  EXPECT_GE(covered(line_s, {8, 16, 32, 64, 128}, 8.0, 100.0), 0.83);
  EXPECT_GE(covered(line_s, {8, 16, 32, 64, 128}, 32.0, 512.0), 0.85);
  EXPECT_GE(covered(proportional_s, {8, 16, 32, 64, 128}, 8.0, 100.0), 0.83);
  EXPECT_GE(covered(proportional_s, {8, 16, 32, 64, 128}, 32.0, 512.0), 0.85);
  EXPECT_GE(covered(line_s, {16, 64}, 16.0, 32.0), 0.83);
  EXPECT_GE(covered(proportional_s, {16, 64}, 16.0, 64.0), 0.83);
}

TEST(BatchFit, TwoBatchesShowAFixedPart) {
  const BatchFit fit = fit_batches(points_of(line_s, {16, 64}, 0.0, 1));
  ASSERT_TRUE(fit.usable) << fit.status;
  EXPECT_TRUE(fit.laws.front().line) << fit.status;
  EXPECT_NEAR(fit.ratio(16.0, 64.0), line_s(64.0) / line_s(16.0), 0.05);
  EXPECT_THAT(fit.status, HasSubstr("a choice that follows from the prior only"));
}

TEST(BatchFit, ComputeProportionalToTheBatchIsReportedSo) {
  const BatchFit fit = fit_batches(points_of(proportional_s, {16, 64}, 0.0, 1));
  ASSERT_TRUE(fit.usable) << fit.status;
  EXPECT_FALSE(fit.laws.front().line) << fit.status;
  EXPECT_NEAR(fit.ratio(16.0, 64.0), 4.0, 0.02);
  EXPECT_THAT(fit.status, HasSubstr("the batch to the power of 1 ±"));
}

// A little more than in proportion, as where a cache no longer holds a large batch: no fixed part below 0 is made up.
TEST(BatchFit, MoreThanInProportionIsAPowerAboveOne) {
  const Law law = [](double batch) { return 1e-3 * std::pow(batch, 1.15); };
  const BatchFit fit = fit_batches(points_of(law, {8, 16, 32, 64, 128}, 0.0, 1));
  ASSERT_TRUE(fit.usable) << fit.status;
  EXPECT_FALSE(fit.laws.front().line) << fit.status;
  EXPECT_NEAR(fit.parameters().values[0], 1.15, 0.02);
}

TEST(BatchFit, ImpossibleMeasurementsAreRefusedWithAReason) {
  const BatchFit less = fit_batches({{1, 32, 0.1, 0.01, 1}, {1, 64, 0.07, 0.01, 1}});
  EXPECT_FALSE(less.usable);
  EXPECT_EQ(less.status,
            "not usable: forward and backward took 100 ms with a batch of 32 and 70 ms with 64 at N = 1: a larger "
            "batch cannot take less time");
  const BatchFit more = fit_batches({{2, 32, 0.1, 0.01, 2}, {2, 64, 0.6, 0.01, 2}});
  EXPECT_FALSE(more.usable);
  EXPECT_THAT(more.status, HasSubstr("and 600 ms with 64 at N = 2: the time grew faster than the square of the batch"));
  // Within the noise, this is accepted; the fixed part takes all of the time.
  const BatchFit noisy = fit_batches({{1, 32, 0.1, 0.05, 1}, {1, 64, 0.095, 0.05, 1}});
  EXPECT_TRUE(noisy.usable) << noisy.status;
  EXPECT_GE(noisy.ratio(32.0, 64.0), 1.0);
}

TEST(BatchFit, OneBatchGivesNoFit) {
  const BatchFit fit = fit_batches({{1, 32, 0.1, 0.01, 1}, {2, 64, 0.2, 0.01, 2}});
  EXPECT_FALSE(fit.usable);
  EXPECT_TRUE(fit.status.empty());
}

}  // namespace
}  // namespace ddpprof::fit
