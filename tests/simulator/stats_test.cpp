// Statistics against closed forms, published tables and exact counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "simulator/stats/interval.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/ratio.hpp"
#include "simulator/stats/stopping.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::stats {
namespace {

std::vector<double> counting(int count) {
  std::vector<double> values;
  for (int i = 1; i <= count; ++i) values.push_back(i);
  return values;
}

TEST(Summary, MedianOfOddAndEvenCountsInAnyOrder) {
  EXPECT_DOUBLE_EQ(median(std::vector{3.0, 1.0, 2.0}), 2.0);
  EXPECT_DOUBLE_EQ(median(std::vector{4.0, 1.0, 3.0, 2.0}), 2.5);
  EXPECT_DOUBLE_EQ(median(std::vector{7.0}), 7.0);
}

TEST(Summary, QuantileInterpolatesAsType7) {
  // h = (n - 1) p: for 1..5, p = 0.1 lies 0.4 of the way from 1 to 2.
  EXPECT_DOUBLE_EQ(quantile(counting(5), 0.1), 1.4);
  EXPECT_DOUBLE_EQ(quantile(counting(5), 0.0), 1.0);
  EXPECT_DOUBLE_EQ(quantile(counting(5), 1.0), 5.0);
  EXPECT_EQ(quantiles(counting(5), 0.1, 0.9), (std::pair{quantile(counting(5), 0.1), quantile(counting(5), 0.9)}));
  EXPECT_EQ(quantiles(counting(5), 0.1, 0.2), (std::pair{quantile(counting(5), 0.1), quantile(counting(5), 0.2)}));
  EXPECT_THROW(quantiles(counting(5), 0.9, 0.1), std::invalid_argument);
}

TEST(Summary, SpreadIgnoresOneWildSample) {
  // deviations from 3 are 2 1 0 1 997: their median is 1.
  EXPECT_DOUBLE_EQ(mad(std::vector{1.0, 2.0, 3.0, 4.0, 1000.0}), 1.0);
  EXPECT_NEAR(standard_deviation(std::vector{2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}), std::sqrt(32.0 / 7.0), 1e-15);
}

TEST(Summary, AnEmptyInputIsAnError) {
  const std::vector<double> none;
  EXPECT_THROW(median(none), std::invalid_argument);
  EXPECT_THROW(median_interval(none, 0.95), std::invalid_argument);
  EXPECT_THROW(quantile(counting(2), 1.5), std::invalid_argument);
}

TEST(MedianInterval, DropsAsManyAsTheSignTestsTableAllows) {
  // Two-sided 5 % critical values of the sign test: n = 6: 0, 10: 1, 20: 5, 25: 7, 50: 17. That many values at each
  // end, plus one, may be cut off: the interval starts at the value after them.
  const std::vector<std::pair<int, int>> table = {{6, 0}, {10, 1}, {20, 5}, {25, 7}, {50, 17}};
  for (const auto& [count, critical] : table) {
    const Interval interval = median_interval(counting(count), 0.95);
    EXPECT_DOUBLE_EQ(interval.low, critical + 1) << count;
    EXPECT_DOUBLE_EQ(interval.high, count - critical) << count;
    EXPECT_GE(interval.achieved_confidence, 0.95) << count;
  }
  // n = 10, k = 1: 1 - 2 (1 + 10) / 1024.
  EXPECT_NEAR(median_interval(counting(10), 0.95).achieved_confidence, 1.0 - 22.0 / 1024.0, 1e-12);
}

TEST(MedianInterval, FewSamplesGiveTheRangeAndSaySo) {
  const Interval three = median_interval(counting(3), 0.95);
  EXPECT_DOUBLE_EQ(three.low, 1.0);
  EXPECT_DOUBLE_EQ(three.high, 3.0);
  EXPECT_DOUBLE_EQ(three.achieved_confidence, 0.75);
  EXPECT_DOUBLE_EQ(median_interval(counting(1), 0.95).achieved_confidence, 0.0);
}

TEST(MedianInterval, LargeCountsFollowTheNormalApproximation) {
  const int count = 1000001;
  const Interval interval = median_interval(counting(count), 0.95);
  // half width 1.96 sqrt(n) / 2 ranks
  EXPECT_NEAR((interval.high - interval.low) / 2.0, 1.959964 * std::sqrt(count) / 2.0, 2.0);
  EXPECT_NEAR(interval.achieved_confidence, 0.95, 1e-3);
}

TEST(MedianInterval, CoversTheTrueMedianAsOftenAsItClaims) {
  // Exponential samples (median ln 2), 15 a time: the claimed coverage is exact for any continuous distribution.
  Random random(11);
  int covered = 0;
  double claimed = 0.0;
  const int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples;
    for (int i = 0; i < 15; ++i) samples.push_back(-std::log(random.uniform()));
    const Interval interval = median_interval(samples, 0.9);
    claimed = interval.achieved_confidence;
    covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high;
  }
  // 4 standard errors of a proportion near 0.96
  EXPECT_NEAR(static_cast<double>(covered) / trials, claimed, 4.0 * std::sqrt(0.04 * 0.96 / trials));
}

TEST(Student, QuantilesOfPublishedTables) {
  // Two-sided 5 % points as tables of the t distribution print them.
  for (const auto& [degrees, expected] :
       {std::pair{1, 12.7062}, {2, 4.3027}, {3, 3.1824}, {4, 2.7764}, {10, 2.2281}, {31, 2.0395}, {120, 1.9799}}) {
    EXPECT_NEAR(student_quantile(0.975, degrees), expected, 6e-5) << degrees;
    EXPECT_NEAR(student_quantile(0.025, degrees), -expected, 6e-5) << degrees;
  }
  // Half degrees, between which Welch's and Satterthwaite's fall: roots of the incomplete beta function to 15 digits.
  EXPECT_NEAR(student_quantile(0.975, 1.5), 6.01666310442793, 1e-9);
  EXPECT_NEAR(student_quantile(0.975, 7.3), 2.3450667365477, 1e-9);
  EXPECT_NEAR(student_quantile(0.5, 7), 0.0, 1e-9);
  EXPECT_THROW(student_quantile(0.975, 0), std::invalid_argument);
  EXPECT_THROW(student_quantile(1.0, 3), std::invalid_argument);
}

TEST(ClusteredRatio, OfConstantsIsTheirRatioExactly) {
  const std::vector<std::vector<double>> three(2, std::vector<double>(6, 3.0)), two(2, std::vector<double>(6, 2.0));
  const Interval ratio = clustered_ratio_interval(three, two, 0.95);
  EXPECT_EQ(ratio.low, 1.5);
  EXPECT_EQ(ratio.mid, 1.5);
  EXPECT_EQ(ratio.high, 1.5);
  EXPECT_EQ(ratio.achieved_confidence, 0.95);
  EXPECT_DOUBLE_EQ(clustered_ratio_interval(std::vector(1, std::vector(3, 1.0)), two, 0.95).achieved_confidence, 0.75)
      << "three samples: 1 - 2^-2";
  EXPECT_THROW(clustered_ratio_interval({}, two, 0.95), std::invalid_argument);
  EXPECT_THROW(clustered_ratio_interval(std::vector(1, std::vector{1.0, 0.0}), two, 0.95), std::invalid_argument);
}

TEST(ClusteredRatio, CoversTheTrueRatioThoughOnlyThreeRunsAreSeen) {
  // Runs differ by 5 %, their steps by 2 %; the true ratio is 1.3. Binomial(300, 0.95) is below 273 once in 700 times.
  Random random(11);
  int covered = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const auto measured = [&](double truth) {
      std::vector<std::vector<double>> repeats;
      for (int r = 0; r < 3; ++r) {
        const double run = truth * std::exp(0.05 * random.normal());
        std::vector<double> steps;
        for (int i = 0; i < 20; ++i) steps.push_back(run * std::exp(0.02 * random.normal()));
        repeats.push_back(std::move(steps));
      }
      return repeats;
    };
    const Interval ratio = clustered_ratio_interval(measured(1.3), measured(1.0), 0.95);
    covered += ratio.low <= 1.3 && 1.3 <= ratio.high ? 1 : 0;
  }
  EXPECT_GE(covered, 273);
  EXPECT_LT(covered, 300) << "an interval that always covers says nothing";
}

// Returns how many of 200 intervals of 95 % for a ratio of 1 contain it: `a` and `b` runs whose own levels differ by
// the given spread, with 12 steps each, which differ by 2 %.
int covered_of_200(std::size_t a, double spread_a, std::size_t b, double spread_b) {
  Random random(11);
  const auto measured = [&](std::size_t runs, double spread) {
    std::vector<std::vector<double>> repeats(runs);
    for (std::vector<double>& steps : repeats) {
      const double run = std::exp(spread * random.normal());
      for (int i = 0; i < 12; ++i) steps.push_back(run * std::exp(0.02 * random.normal()));
    }
    return repeats;
  };
  int covered = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const auto first = measured(a, spread_a), second = measured(b, spread_b);
    const Interval ratio = clustered_ratio_interval(first, second, 0.95);
    covered += ratio.low <= 1.0 && 1.0 <= ratio.high ? 1 : 0;
  }
  std::printf("covered: %d of 200 (%zu against %zu repeats)\n", covered, a, b);
  return covered;
}

TEST(ClusteredRatio, CoversWhereRepeatsAndTheirSpreadAreUnequal) {
  // Two repeats say little of their own spread, and many repeats of the other side do not make up for that: 92 to 93 %
  // of thousands, so that fewer than 174 are a chance of 1 in 400.
  EXPECT_GE(covered_of_200(2, 0.05, 10, 0.02), 174);
  EXPECT_GE(covered_of_200(3, 0.05, 3, 0.005), 187) << "n1 + n2 - 2 degrees of freedom cover 186 of these";
}

TEST(ClusteredDifference, TakesZerosAndIsExactWithoutSpread) {
  const std::vector<std::vector<double>> some(2, {0.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0});
  const std::vector<std::vector<double>> none(2, std::vector<double>(7, 0.0));
  const Interval same = clustered_difference_interval(none, none, 0.95);
  EXPECT_EQ(same.low, 0.0);
  EXPECT_EQ(same.high, 0.0);
  EXPECT_EQ(same.achieved_confidence, 0.95);
  const Interval more = clustered_difference_interval(some, none, 0.95);
  EXPECT_EQ(more.mid, 3.0);
  EXPECT_GT(more.low, 0.0);
  EXPECT_EQ(clustered_difference_interval(none, some, 0.95).mid, -3.0);
  EXPECT_THROW(clustered_difference_interval({}, none, 0.95), std::invalid_argument);
  EXPECT_THROW(clustered_difference_interval(some, none, 1.0), std::invalid_argument);
}

TEST(ClusteredDifference, RunsThatDifferByChanceAreSeldomADifference) {
  // Three runs a side, 5 % between runs and 2 % within, one step of zero: 20 steps of one run are not 20 runs. Binomial
  // (300, 0.05) exceeds 27 once in 700 times.
  Random random(3);
  const auto measured = [&] {
    std::vector<std::vector<double>> repeats(3);
    for (std::vector<double>& steps : repeats) {
      const double run = 1.0 + 0.05 * random.normal();
      for (int i = 0; i < 20; ++i) steps.push_back(run * (1.0 + 0.02 * random.normal()));
    }
    repeats[0][0] = 0.0;
    return repeats;
  };
  int apart = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const auto first = measured(), second = measured();
    const Interval difference = clustered_difference_interval(first, second, 0.95);
    apart += difference.low > 0.0 || difference.high < 0.0 ? 1 : 0;
  }
  std::printf("apart by chance: %d of 300\n", apart);
  EXPECT_LE(apart, 27);
  EXPECT_GT(apart, 0) << "an interval that always covers says nothing";
}

TEST(ClusteredMedian, OneRepeatIsTheMedianInterval) {
  const std::vector<std::vector<double>> one = {{}, counting(20)};
  const Interval clustered = clustered_median_interval(one, 0.95);
  const Interval plain = median_interval(counting(20), 0.95);
  EXPECT_DOUBLE_EQ(clustered.low, plain.low);
  EXPECT_DOUBLE_EQ(clustered.high, plain.high);
  EXPECT_DOUBLE_EQ(clustered.achieved_confidence, plain.achieved_confidence);
  EXPECT_THROW(clustered_median_interval({}, 0.95), std::invalid_argument);
}

TEST(ClusteredMedian, RepeatsThatDifferStayInTheIntervalHoweverLongTheyAre) {
  // Medians 1.00, 1.10 and 1.21, each known to 0.1 %: which of them a fourth run would be like, 3,000 steps cannot say.
  std::vector<std::vector<double>> repeats(3);
  std::vector<double> pooled;
  Random random(5);
  for (std::size_t i = 0; i < 3; ++i) {
    for (int step = 0; step < 1000; ++step) repeats[i].push_back(std::pow(1.1, i) * (1.0 + 0.01 * random.normal()));
    pooled.insert(pooled.end(), repeats[i].begin(), repeats[i].end());
  }
  const Interval interval = clustered_median_interval(repeats, 0.95);
  EXPECT_NEAR(interval.low, 1.0, 0.01);
  EXPECT_NEAR(interval.high, 1.21, 0.01);
  EXPECT_DOUBLE_EQ(interval.mid, median(pooled));
  EXPECT_DOUBLE_EQ(interval.achieved_confidence, 0.75);  // 1 - 2^-2
  EXPECT_LT(median_interval(pooled, 0.95).relative_half_width(), 0.3 * interval.relative_half_width());
  const Interval again = clustered_median_interval(repeats, 0.95);
  EXPECT_EQ(again.low, interval.low);
  EXPECT_EQ(again.high, interval.high);
  // Both have a coverage of 75 %, so both are one interval. 75 % and less can be reached.
  const Interval lower = clustered_median_interval(repeats, 0.9);
  EXPECT_EQ(lower.low, interval.low);
  EXPECT_EQ(lower.high, interval.high);
  EXPECT_DOUBLE_EQ(lower.achieved_confidence, 0.75);
  EXPECT_DOUBLE_EQ(clustered_median_interval(repeats, 0.7).achieved_confidence, 0.7);
}

TEST(ClusteredMedian, CoversAsOftenAsItClaimsWhereSingleStepsDoNot) {
  // Five repeats of 40 steps; a repeat's level varies by 5 %, a step within it by 1 %. The median of all is 1.
  Random random(17);
  const int trials = 400;
  int covered = 0, pooled_covered = 0;
  double claimed = 0.0;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<std::vector<double>> repeats(5);
    std::vector<double> pooled;
    for (std::vector<double>& repeat : repeats) {
      const double level = 1.0 + 0.05 * random.normal();
      for (int step = 0; step < 40; ++step) repeat.push_back(level * (1.0 + 0.01 * random.normal()));
      pooled.insert(pooled.end(), repeat.begin(), repeat.end());
    }
    const Interval interval = clustered_median_interval(repeats, 0.9);
    claimed += interval.achieved_confidence / trials;
    covered += interval.low <= 1.0 && 1.0 <= interval.high;
    const Interval plain = median_interval(pooled, 0.9);
    pooled_covered += plain.low <= 1.0 && 1.0 <= plain.high;
  }
  RecordProperty("covered", covered);
  RecordProperty("covered_by_pooling", pooled_covered);
  std::printf("covered: %d of %d, by pooling %d\n", covered, trials, pooled_covered);
  // 4 standard errors of a proportion of 0.9
  EXPECT_GT(static_cast<double>(covered) / trials, claimed - 4.0 * std::sqrt(0.09 / trials));
  EXPECT_LT(pooled_covered, trials / 2);
}

TEST(Normal, QuantileMatchesPublishedValuesAndInvertsTheCdf) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(normal_quantile(0.999), 3.090232306167813, 1e-13);
  EXPECT_DOUBLE_EQ(normal_quantile(0.5), 0.0);
  for (const double p : {1e-300, 1e-12, 1e-3, 0.2, 0.49999, 0.7}) {
    EXPECT_NEAR(normal_cdf(normal_quantile(p)) / p, 1.0, 1e-12) << p;
  }
  EXPECT_THROW(normal_quantile(0.0), std::invalid_argument);
  EXPECT_THROW(normal_quantile(1.0), std::invalid_argument);
}

TEST(Normal, BlomsMaximumIsAsCloseAsItSays) {
  // Exact: N = 2: 1/sqrt(pi); N = 3: 3/(2 sqrt(pi)); N = 10 and 100 from published tables of order statistics.
  EXPECT_DOUBLE_EQ(blom_expected_max(1), 0.0);
  EXPECT_NEAR(blom_expected_max(2) / (1.0 / std::sqrt(M_PI)), 1.045, 0.001);
  EXPECT_NEAR(blom_expected_max(3) / (1.5 / std::sqrt(M_PI)), 1.0, 0.03);
  EXPECT_NEAR(blom_expected_max(10) / 1.53875, 1.0, 0.01);
  EXPECT_NEAR(blom_expected_max(100) / 2.50759, 1.0, 0.01);
  EXPECT_THROW(blom_expected_max(0), std::invalid_argument);
}

TEST(RandomGenerator, FollowsThePublishedSequence) {
  // SplitMix64's reference output for seed 1234567.
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ULL);
  EXPECT_EQ(random.next(), 3203168211198807973ULL);
  EXPECT_EQ(random.next(), 9817491932198370423ULL);
}

TEST(RandomGenerator, NormalDrawsHaveUnitSpread) {
  Random random(5);
  std::vector<double> draws(100000);
  for (double& draw : draws) draw = random.normal();
  EXPECT_NEAR(mean(draws), 0.0, 4.0 / std::sqrt(1e5));
  EXPECT_NEAR(standard_deviation(draws), 1.0, 4.0 / std::sqrt(2e5));
  EXPECT_NEAR(mad_sigma(draws), 1.0, 0.02);
}

TEST(Stopping, NeedsEnoughSamplesAndANarrowMedian) {
  const std::vector<double> steady(9, 1.0);
  EXPECT_FALSE(enough(steady, 1.0)) << "nine equal samples are still fewer than the minimum";
  EXPECT_TRUE(enough(std::vector<double>(minimum_samples, 1.0), 1.0));
  std::vector<double> spread;
  for (int i = 0; i < 30; ++i) spread.push_back(1.0 + 0.01 * i);
  // Median 1.145; the 95 % interval of 30 is x(10) … x(21) = 1.09 … 1.20, i.e. ± 4.8 %.
  EXPECT_FALSE(enough(spread, 4.7));
  EXPECT_TRUE(enough(spread, 4.9));
  EXPECT_THROW(enough(steady, 0.0), std::invalid_argument);
}

TEST(Interval, RelativeHalfWidth) {
  EXPECT_DOUBLE_EQ((Interval{9.0, 10.0, 12.0, 0.9}.relative_half_width()), 0.15);
  EXPECT_EQ((Interval{-1.0, 0.0, 1.0, 0.9}.relative_half_width()), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace ddpprof::stats
