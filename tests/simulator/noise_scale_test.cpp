// The gradient noise scale from simulated gradients whose noise is known, and how often its band holds the truth.
#include "simulator/learning_rate/noise_scale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "simulator/learning_rate/noise_band.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::learning_rate {
namespace {

// |g_b|^2 = |G|^2 + tr / b: 3 + 80 / 4 = 23 and 3 + 80 / 16 = 8.
TEST(NoiseScale, SolvesTheTwoBatchesEquations) {
  const NoiseSample sample = noise_of_batches(4.0, 23.0, 16.0, 8.0);
  EXPECT_DOUBLE_EQ(sample.gradient_sqr, 3.0);
  EXPECT_DOUBLE_EQ(sample.trace, 80.0);
  const double ranks[] = {20.0, 26.0, 22.0, 24.0};
  const NoiseSample same = noise_of_ranks(ranks, 8.0, 4.0);
  EXPECT_DOUBLE_EQ(same.gradient_sqr, 3.0);
  EXPECT_DOUBLE_EQ(same.trace, 80.0);
  EXPECT_THROW(noise_of_ranks({ranks, 1}, 8.0, 4.0), std::invalid_argument);
  EXPECT_THROW(noise_of_batches(4.0, 23.0, 4.0, 8.0), std::invalid_argument);
  EXPECT_THROW(noise_of_batches(0.0, 23.0, 4.0, 8.0), std::invalid_argument);
  EXPECT_THROW(noise_of_batches(4.0, -1.0, 16.0, 8.0), std::invalid_argument);
  EXPECT_THROW(noise_of_batches(4.0, 23.0, 16.0, std::nan("")), std::invalid_argument);
}

// Steps of data-parallel ranks: G = (3, 4, 0, …), per-sample deviations 1 … 20 by direction: tr = 2870, |G|^2 = 25.
std::vector<NoiseSample> steps_of_ranks(stats::Random& random, int steps, int ranks, double samples_per_rank) {
  constexpr int directions = 20;
  std::vector<NoiseSample> samples;
  for (int step = 0; step < steps; ++step) {
    std::vector<double> norms(static_cast<std::size_t>(ranks));
    double mean_sqr = 0.0;
    for (int i = 0; i < directions; ++i) {
      const double truth = i == 0 ? 3.0 : i == 1 ? 4.0 : 0.0;
      double sum = 0.0;
      for (double& norm : norms) {
        const double g = truth + (i + 1) / std::sqrt(samples_per_rank) * random.normal();
        norm += g * g;
        sum += g;
      }
      mean_sqr += sum / ranks * sum / ranks;
    }
    samples.push_back(noise_of_ranks(norms, mean_sqr, samples_per_rank));
  }
  return samples;
}
constexpr double true_noise = 2870.0 / 25.0;

TEST(NoiseScale, IsUnbiasedOverGradientsOfRanks) {
  for (const int ranks : {2, 8}) {
    stats::Random random(7);
    std::vector<double> traces, gradients;
    for (const NoiseSample& sample : steps_of_ranks(random, 6'000, ranks, 16.0)) {
      traces.push_back(sample.trace);
      gradients.push_back(sample.gradient_sqr);
    }
    const double errors = 3.0 / std::sqrt(6'000.0);  // three standard errors of a mean of independent steps
    EXPECT_NEAR(stats::mean(traces), 2870.0, errors * stats::standard_deviation(traces)) << ranks;
    EXPECT_NEAR(stats::mean(gradients), 25.0, errors * stats::standard_deviation(gradients)) << ranks;
    EXPECT_LT(errors * stats::standard_deviation(gradients), 5.0) << "else the above says little";
  }
}

TEST(MovingNoiseScale, ForgetsItsBeginning) {
  MovingNoiseScale moving(0.9);
  EXPECT_EQ(moving.noise_scale_samples(), std::nullopt);
  moving.add({2.0, 100.0});
  EXPECT_DOUBLE_EQ(*moving.noise_scale_samples(), 50.0) << "not drawn to 0 by one step";
  moving.add({4.0, 100.0});
  EXPECT_DOUBLE_EQ(moving.average()->gradient_sqr, (0.9 * 2.0 + 4.0) / 1.9);
  EXPECT_DOUBLE_EQ(moving.average()->trace, 100.0);
  for (int i = 0; i < 400; ++i) moving.add({1.0, 500.0});
  EXPECT_NEAR(*moving.noise_scale_samples(), 500.0, 1e-9);
  MovingNoiseScale lost(0.5);
  lost.add({-1.0, 100.0});
  EXPECT_EQ(lost.noise_scale_samples(), std::nullopt) << "the gradient cannot be seen for its noise";
  lost.add({9.0, 100.0});
  EXPECT_GT(*lost.noise_scale_samples(), 0.0);
  EXPECT_THROW(MovingNoiseScale(1.0), std::invalid_argument);
  EXPECT_THROW(MovingNoiseScale(-0.1), std::invalid_argument);
  EXPECT_THROW(lost.add({std::nan(""), 1.0}), std::invalid_argument);
}

// First-order autoregression with unit variance.
class Resembling {
 public:
  Resembling(stats::Random& random, double keep) : random_(random), keep_(keep), value_(random.normal()) {}
  double next() {
    value_ = keep_ * value_ + std::sqrt(1.0 - keep_ * keep_) * random_.normal();
    return value_;
  }

 private:
  stats::Random& random_;
  double keep_, value_;
};

struct Coverage {
  double covered = 0.0, answered = 0.0;
};

// tr(Sigma) of mean 60 and |G|^2 of mean 1, each with a deviation relative to its mean; noise scale 60.
Coverage coverage(int steps, double keep, double trace_deviation, double gradient_deviation, double common) {
  constexpr int runs = 600;
  stats::Random random(11);
  Coverage of;
  for (int run = 0; run < runs; ++run) {
    Resembling trace(random, keep), gradient(random, keep);
    std::vector<NoiseSample> samples;
    for (int step = 0; step < steps; ++step) {
      const double u = trace.next(), v = gradient.next();
      samples.push_back({1.0 + gradient_deviation * (common * u + std::sqrt(1.0 - common * common) * v),
                         60.0 * (1.0 + trace_deviation * u)});
    }
    const auto band = noise_band(samples, 0.9);
    if (!band) continue;
    of.answered += 1.0;
    const stats::Interval& interval = band->noise_scale_samples;
    of.covered += interval.low <= 60.0 && 60.0 <= interval.high ? 1.0 : 0.0;
  }
  of.covered /= of.answered;
  of.answered /= runs;
  return of;
}

TEST(NoiseBand, CoversTheTruthAsOftenAsItSays) {
  const struct {
    const char* what;
    int steps;
    double keep, trace_deviation, gradient_deviation, common;
  } cases[] = {{"few steps", 40, 0.0, 0.3, 0.5, 0.0},
               {"independent steps", 200, 0.0, 0.3, 0.5, 0.0},
               {"a gradient lost in noise", 200, 0.0, 0.3, 4.0, 0.0},
               {"noise that both share", 300, 0.0, 0.3, 0.5, 0.9},
               {"steps like their neighbours", 600, 0.7, 0.3, 0.5, 0.3},
               {"… much like them", 2000, 0.9, 0.3, 1.0, 0.0}};
  for (const auto& one : cases) {
    const Coverage of = coverage(one.steps, one.keep, one.trace_deviation, one.gradient_deviation, one.common);
    EXPECT_GT(of.answered, 0.95) << one.what;
    EXPECT_GE(of.covered, 0.85) << one.what;
    EXPECT_LE(of.covered, 0.95) << one.what;
  }
}

TEST(NoiseBand, HoldsForGradientsOfRanks) {
  stats::Random random(3);
  int covered = 0;
  for (int run = 0; run < 200; ++run) {
    const auto band = noise_band(steps_of_ranks(random, 300, 4, 16.0), 0.9);
    ASSERT_TRUE(band);
    const stats::Interval& interval = band->noise_scale_samples;
    covered += interval.low <= true_noise && true_noise <= interval.high;
    EXPECT_EQ(interval.achieved_confidence, 0.9);
    EXPECT_LE(interval.low, interval.mid);
    EXPECT_LE(interval.mid, interval.high);
  }
  EXPECT_GE(covered, 170);
  EXPECT_LE(covered, 194);
}

// |G|^2 of a true mean 0: whatever phi is claimed, a larger one cannot be ruled out.
TEST(NoiseBand, HasNoUpperEndWhereTheGradientMayBeNone) {
  stats::Random random(5);
  int unbounded = 0;
  for (int run = 0; run < 100; ++run) {
    std::vector<NoiseSample> samples;
    for (int step = 0; step < 200; ++step) samples.push_back({random.normal(), 60.0 + random.normal()});
    const auto band = noise_band(samples, 0.9);
    ASSERT_TRUE(band);
    unbounded += std::isinf(band->noise_scale_samples.high);
    EXPECT_GE(band->noise_scale_samples.low, 0.0);
  }
  EXPECT_GE(unbounded, 90) << "one-sided, 95 % of them";
}

TEST(NoiseBand, SaysNothingOfTooFewSteps) {
  EXPECT_EQ(noise_band({}, 0.9), std::nullopt);
  const std::vector<NoiseSample> seven(7, NoiseSample{1.0, 60.0});
  EXPECT_EQ(noise_band(seven, 0.9), std::nullopt);
  stats::Random random(1);
  std::vector<NoiseSample> wandering;
  double gradient = 1.0;
  for (int step = 0; step < 100; ++step) wandering.push_back({gradient += 0.05 * random.normal(), 60.0});
  EXPECT_EQ(noise_band(wandering, 0.9), std::nullopt) << "a hundred steps, but one walk";
  EXPECT_THROW(noise_band(seven, 1.0), std::invalid_argument);
  const NoiseSample wrong[] = {{1.0, std::numeric_limits<double>::infinity()}};
  EXPECT_THROW(noise_band(wrong, 0.9), std::invalid_argument);
}

// Without spread the band is the ratio itself.
TEST(NoiseBand, OfStepsThatAreAllAlikeIsAPoint) {
  const std::vector<NoiseSample> alike(64, NoiseSample{2.0, 60.0});
  const auto band = noise_band(alike, 0.9);
  ASSERT_TRUE(band);
  EXPECT_DOUBLE_EQ(band->noise_scale_samples.low, 30.0);
  EXPECT_DOUBLE_EQ(band->noise_scale_samples.mid, 30.0);
  EXPECT_DOUBLE_EQ(band->noise_scale_samples.high, 30.0);
  EXPECT_EQ(band->steps, 60U) << "12 blocks of 5";
}

}  // namespace
}  // namespace ddpprof::learning_rate
