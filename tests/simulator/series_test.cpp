// Series of step times: warm-up, drift, outliers and dependence, against closed forms, enumeration and made series.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "simulator/stats/autocorrelation.hpp"
#include "simulator/stats/outliers.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/rank_sum.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/stats/trend.hpp"
#include "simulator/stats/warmup.hpp"

namespace ddpprof::stats {
namespace {

using Series = std::vector<double>;

Series made(std::size_t count, std::uint64_t seed, const std::function<double(std::size_t, Random&)>& value) {
  Random random(seed);
  Series series;
  for (std::size_t i = 0; i < count; ++i) series.push_back(value(i, random));
  return series;
}

Series noise(std::size_t count, std::uint64_t seed, double sigma = 1.0) {
  return made(count, seed, [=](std::size_t, Random& random) { return 100.0 + sigma * random.normal(); });
}

Series autoregressive(std::size_t count, std::uint64_t seed, double phi) {
  double last = 0.0;
  return made(count, seed, [&](std::size_t, Random& random) {
    last = phi * last + std::sqrt(1.0 - phi * phi) * random.normal();
    return 100.0 + last;
  });
}

// How many of 200 series satisfy `holds`.
template <class Make, class Holds>
int counted(Make&& make, Holds&& holds) {
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) count += holds(make(seed)) ? 1 : 0;
  return count;
}

TEST(Autocorrelation, TimeOfAnAutoregressiveProcess) {
  // (1 + phi) / (1 - phi): 3 at 0.5, 9 at 0.8; independent samples are worth themselves.
  EXPECT_NEAR(integrated_autocorrelation_time(autoregressive(100'000, 1, 0.5)), 3.0, 0.15);
  EXPECT_NEAR(integrated_autocorrelation_time(autoregressive(100'000, 2, 0.8)), 9.0, 0.6);
  EXPECT_NEAR(effective_sample_size(noise(10'000, 3)), 10'000, 1000);
  EXPECT_DOUBLE_EQ(integrated_autocorrelation_time(Series(50, 7.0)), 1.0);
  Series alternating;
  for (int i = 0; i < 100; ++i) alternating.push_back(i % 2);
  EXPECT_DOUBLE_EQ(effective_sample_size(alternating), 100.0);  // not credited with more
}

// The median of dependent samples varies as that of n_eff independent samples: variance pi/2 sigma^2 / n_eff.
TEST(Autocorrelation, EffectiveSizeForTheMedianPredictsItsVariance) {
  constexpr std::size_t count = 400;
  Series medians;
  double effective = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Series series = autoregressive(count, seed, 0.8);
    medians.push_back(median(series));
    effective += median_effective_size(series) / 400.0;
  }
  const double variance = std::pow(standard_deviation(medians), 2);
  const double implied = std::acos(-1.0) / 2.0 / variance;
  EXPECT_NEAR(effective / implied, 1.0, 0.25);
}

TEST(MannKendall, OfAStrictlyRisingSeries) {
  // n = 10: S = 45, variance 10 * 9 * 25 / 18 = 125, z = 44 / sqrt(125) = 3.9354, p = 8.3e-5.
  Series series(10);
  std::iota(series.begin(), series.end(), 1.0);
  const Trend trend = mann_kendall(series);
  EXPECT_DOUBLE_EQ(trend.score, 45.0);
  EXPECT_DOUBLE_EQ(trend.variance, 125.0);
  EXPECT_NEAR(trend.p_value, 8.3e-5, 1e-6);
  EXPECT_DOUBLE_EQ(trend.slope, 1.0);
  EXPECT_DOUBLE_EQ(trend.low, 1.0);
  EXPECT_DOUBLE_EQ(trend.high, 1.0);
}

TEST(MannKendall, VarianceIsThatOfAllOrders) {
  // Every order of 7 values, two pairs of them equal, is as likely: the variance of S over all of them is exact.
  for (const Series& values : {Series{1, 2, 3, 4, 5, 6, 7}, Series{1, 1, 2, 3, 3, 4, 5}}) {
    std::vector<int> order{0, 1, 2, 3, 4, 5, 6};
    double squares = 0, orders = 0, claimed = 0;
    do {
      Series series;
      for (const int i : order) series.push_back(values[static_cast<std::size_t>(i)]);
      const Trend trend = mann_kendall(series);
      squares += trend.score * trend.score;
      claimed = trend.variance;
      orders += 1;
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_NEAR(squares / orders, claimed, 1e-9);
  }
}

TEST(MannKendall, PValueIsNearTheExactOneFromEightOn) {
  // The exact two-sided p of S = 18 at n = 8 by counting orders with as many inversions: known tables give 0.031.
  std::vector<int> order{0, 1, 2, 3, 4, 5, 6, 7};
  double extreme = 0, all = 0;
  do {
    int score = 0;
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = i + 1; j < 8; ++j) score += order[j] > order[i] ? 1 : -1;
    extreme += std::abs(score) >= 18 ? 1 : 0;
    all += 1;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_NEAR(extreme / all, 0.031, 0.0005);
  const Series with_that_score{1, 2, 3, 4, 7, 8, 6, 5};  // 28 pairs, 5 fall: 23 - 5 = 18
  const Trend trend = mann_kendall(with_that_score);
  EXPECT_DOUBLE_EQ(trend.score, 18.0);
  EXPECT_NEAR(trend.p_value, extreme / all, 0.005);
}

TEST(TheilSen, OneWildSampleLeavesTheSlopeAlone) {
  Series series;
  for (int i = 0; i < 21; ++i) series.push_back(2.0 * i);
  series[10] = 1e6;
  EXPECT_DOUBLE_EQ(mann_kendall(series).slope, 2.0);
  EXPECT_THROW(mann_kendall(Series{1, 2}), std::invalid_argument);
}

TEST(TheilSen, IntervalCoversTheSlopeAsOftenAsItClaims) {
  const int covered = counted(
      [](std::uint64_t seed) {
        return made(30, seed, [](std::size_t i, Random& r) { return 0.1 * static_cast<double>(i) + r.normal(); });
      },
      [](const Series& series) {
        const Trend trend = mann_kendall(series);
        return trend.low <= 0.1 && 0.1 <= trend.high;
      });
  EXPECT_GE(covered, 182);  // of 200 at 95 %: 190 expected, 182 is 2.6 standard deviations below
}

TEST(Drift, IsNotSeenInNoiseNorInDependence) {
  const auto significant = [](const Series& series) {
    const Drift found = drift(series);
    return found.p_value && *found.p_value < 0.01;
  };
  // At p < 0.01 two of 200 are expected; seven or more would be one chance in 150.
  EXPECT_LE(counted([](std::uint64_t seed) { return noise(300, seed); }, significant), 7);
  // Mann-Kendall alone calls a third of these a drift.
  EXPECT_LE(counted([](std::uint64_t seed) { return autoregressive(300, seed, 0.8); }, significant), 12);
  EXPECT_GE(counted([](std::uint64_t seed) { return autoregressive(300, seed, 0.8); },
                    [](const Series& series) { return mann_kendall(series).p_value < 0.01; }),
            40);
}

TEST(Drift, IsMeasuredThroughNoiseAndWildSamples) {
  const Series series = made(500, 4, [](std::size_t i, Random& random) {
    const double wild = random.uniform() < 0.05 ? 200.0 : 0.0;
    return 100.0 + 0.02 * static_cast<double>(i) + random.normal() + wild;
  });
  const Drift found = drift(series);
  ASSERT_TRUE(found.p_value.has_value());
  EXPECT_LT(*found.p_value, 1e-6);
  EXPECT_NEAR(found.slope, 0.02, 0.002);
  EXPECT_NEAR(found.change, 0.02 * 499, 1.0);
}

TEST(Drift, LongSeriesAreTakenInBlocksAndShortOnesSayNothing) {
  const Drift many = drift(noise(100'000, 5));
  EXPECT_LE(many.blocks, 500u);
  EXPECT_GE(many.block, 200u);
  EXPECT_FALSE(drift(noise(7, 6)).p_value.has_value());
  EXPECT_TRUE(drift(noise(8, 6)).p_value.has_value());
  EXPECT_THROW(drift(Series{1, 2}), std::invalid_argument);
}

TEST(Mser, CutsWhatMakesTheMeanWorse) {
  // By hand, batches of 1: 10 1 1 1. d = 0: mean 3.25, sum of squares 60.75 over 16; d = 1: 0. d is at most 2.
  EXPECT_EQ(mser(Series{10, 1, 1, 1}, 1), 1u);
  EXPECT_EQ(mser(Series{1, 1, 1, 1}, 1), 0u);
  // Batches of 2 of nine samples: the first is left out.
  EXPECT_EQ(mser(Series{50, 10, 10, 1, 1, 1, 1, 1, 1}, 2), 1u);
  EXPECT_THROW(mser(Series{1, 2, 3}, 2), std::invalid_argument);
}

TEST(WarmupEnd, NoWarmupMeansNothingToCut) {
  for (const std::size_t count : {10, 20, 50, 200}) {
    int settled = 0;
    double cut = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      const WarmupEnd end = warmup_end(noise(count, seed));
      settled += end.settled ? 1 : 0;
      cut += static_cast<double>(end.steps) / static_cast<double>(count) / 200.0;
    }
    EXPECT_GE(settled, 150) << count;
    EXPECT_LT(cut, 0.25) << count;
  }
}

TEST(WarmupEnd, ADecayIsCutUntilItDrownsInTheNoise) {
  // 100 % too slow, falling by e every 8 steps: below one standard deviation (1 %) after 8 ln 100 = 37 steps.
  const auto decay = [](std::size_t count, std::uint64_t seed) {
    return made(count, seed, [](std::size_t i, Random& random) {
      return 100.0 * (1.0 + std::exp(-static_cast<double>(i) / 8.0)) + random.normal();
    });
  };
  int near = 0, early = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const WarmupEnd whole = warmup_end(decay(200, seed));
    EXPECT_GE(whole.steps, 30u) << seed;  // never while it is 2 % too slow
    near += whole.settled && whole.steps <= 70 ? 1 : 0;
    early += warmup_end(decay(20, seed)).settled ? 1 : 0;  // it still falls
  }
  EXPECT_GE(near, 175);
  EXPECT_EQ(early, 0);
}

TEST(WarmupEnd, AStepIsFoundWhereItIs) {
  int near = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const WarmupEnd end = warmup_end(made(
        100, seed, [](std::size_t i, Random& random) { return (i < 23 ? 130.0 : 100.0) + 3.0 * random.normal(); }));
    EXPECT_GE(end.steps, 25u) << seed;  // the first whole batch of five after step 23
    near += end.settled && end.steps <= 45 ? 1 : 0;
  }
  EXPECT_GE(near, 175);
}

TEST(WarmupEnd, ASeriesThatOnlyDriftsNeverSettles) {
  const Series series = made(
      100, 1, [](std::size_t i, Random& random) { return 100.0 + static_cast<double>(i) + 0.5 * random.normal(); });
  EXPECT_FALSE(warmup_end(series).settled);
}

TEST(WarmupEnd, OneInterruptedStepDecidesNothing) {
  int settled_early = 0, plain = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Series series = noise(50, seed);
    series[22] = 5000.0;
    plain += mser(series, 5) == 5 ? 1 : 0;  // cuts everything up to it
    const WarmupEnd end = warmup_end(series);
    settled_early += end.settled && end.steps < 20 ? 1 : 0;
  }
  EXPECT_EQ(plain, 200);
  EXPECT_GE(settled_early, 120);
  EXPECT_FALSE(warmup_end(noise(9, 1)).settled);  // too few to tell
}

TEST(WarmupEnd, HeavyTailsSettle) {
  // Pareto with index 1.5: infinite variance.
  const int settled = counted(
      [](std::uint64_t seed) {
        return made(100, seed,
                    [](std::size_t, Random& random) { return 100.0 * std::pow(random.uniform(), -1 / 1.5); });
      },
      [](const Series& series) { return warmup_end(series).settled; });
  EXPECT_GE(settled, 150);
}

TEST(Outliers, TheLimitIsTheDefinition) {
  // 1 … 9 and 100: median 5.5, deviations 0.5 0.5 1.5 1.5 … 4.5 and 94.5: their median is 2.5.
  Series series(9);
  std::iota(series.begin(), series.end(), 1.0);
  series.push_back(100.0);
  const Outliers found = find_outliers(series);
  EXPECT_DOUBLE_EQ(found.limit, 5.5 + 5.0 * mad_sigma(series));
  EXPECT_EQ(found.indices, (std::vector<std::size_t>{9}));
  EXPECT_EQ(found.place, Place::scattered);
  EXPECT_EQ(find_outliers(Series{1, 1, 1, 1, 9}).place, Place::none);  // no spread to measure by
}

TEST(Outliers, WhereTheyFallIsNamed) {
  const auto with = [](const std::vector<std::size_t>& slow) {
    Series series = noise(100, 1);
    for (const std::size_t i : slow) series[i] = 1000.0;
    return find_outliers(series);
  };
  EXPECT_EQ(with({}).place, Place::none);
  EXPECT_EQ(with({0, 1, 2, 5}).place, Place::beginning);
  EXPECT_EQ(with({85, 91, 97, 99}).place, Place::end);
  EXPECT_EQ(with({40, 41, 42, 43, 60, 61, 62}).place, Place::together);
  EXPECT_EQ(with({7, 27, 47, 67, 87}).place, Place::periodic);
  EXPECT_EQ(with({7, 27, 47, 67, 87}).period, 20u);
  EXPECT_EQ(with({3, 30, 35, 71}).place, Place::scattered);
}

// All C(m + n, m) ways to lay out distinct ranks: the exact distribution of U is what the approximation stands for.
TEST(RankSum, IsNearTheExactDistribution) {
  constexpr std::size_t m = 6, n = 9;
  std::vector<double> ranks(m + n);
  std::iota(ranks.begin(), ranks.end(), 1.0);
  std::vector<bool> mine(m + n);
  std::fill(mine.end() - m, mine.end(), true);
  std::vector<double> sums;
  do {
    double sum = 0;
    for (std::size_t i = 0; i < mine.size(); ++i) sum += mine[i] ? ranks[i] : 0.0;
    sums.push_back(sum);
  } while (std::next_permutation(mine.begin(), mine.end()));
  ASSERT_EQ(sums.size(), 5005u);
  for (const double wanted : {60.0, 65.0, 70.0}) {
    // A first sample with that sum of ranks: the largest ones, moved down one by one.
    std::vector<double> first = {10, 11, 12, 13, 14, 15};
    for (double left = std::accumulate(first.begin(), first.end(), 0.0) - wanted; left > 0; left -= 1)
      *std::find_if(first.begin(), first.end(), [&](double rank) {
        return rank > 1 && std::find(first.begin(), first.end(), rank - 1) == first.end();
      }) -= 1;
    std::vector<double> second;
    for (const double rank : ranks)
      if (std::find(first.begin(), first.end(), rank) == first.end()) second.push_back(rank);
    const auto above = std::count_if(sums.begin(), sums.end(), [&](double sum) { return sum >= wanted; });
    EXPECT_NEAR(rank_sum(first, second), static_cast<double>(above) / 5005.0, 0.005) << wanted;
  }
}

TEST(RankSum, TiesAndNothingToCompare) {
  EXPECT_EQ(rank_sum(Series{}, Series{1, 2}), 1.0);
  EXPECT_EQ(rank_sum(Series{3, 3, 3}, Series{3, 3}), 1.0);
  EXPECT_LT(rank_sum(Series{5, 5, 5, 5, 5}, Series{1, 1, 2, 2, 1, 2, 1, 2}), 0.005);
  EXPECT_GT(rank_sum(Series{1, 1, 1, 1, 1}, Series{5, 5, 5, 5, 5}), 0.99);
}

// The report warns of a front that is slower by 5 %. Noise alone is hardly ever reported as such a front.
TEST(RankSum, AFrontThatMserCutsFromNoiseIsSeldomSlower) {
  for (const double sigma : {5.0, 10.0}) {
    int alarms = 0;
    constexpr int series = 1000;
    for (std::uint64_t seed = 0; seed < series; ++seed) {
      const Series steps = noise(50, seed, sigma);
      const WarmupEnd end = warmup_end(steps);
      if (!end.settled || end.steps == 0) continue;
      const std::span<const double> all(steps);
      const double excess = median(all.first(end.steps)) / median(all.subspan(end.steps)) - 1.0;
      if (excess > 0.05 && rank_sum(all.first(end.steps), all.subspan(end.steps)) < 0.001) ++alarms;
    }
    EXPECT_LE(alarms, series / 50) << sigma;
  }
}

}  // namespace
}  // namespace ddpprof::stats
