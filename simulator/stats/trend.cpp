#include "simulator/stats/trend.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulator/stats/autocorrelation.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::stats {
namespace {

constexpr std::size_t most_blocks = 500;

double pairs_term(double n) { return n * (n - 1.0) * (2.0 * n + 5.0); }

double score_variance(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  double sum = pairs_term(static_cast<double>(sorted.size()));
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin + 1;
    while (end < sorted.size() && sorted[end] == sorted[begin]) ++end;
    sum -= pairs_term(static_cast<double>(end - begin));
    begin = end;
  }
  return sum / 18.0;
}

// The value of rank `place` (1-based, not whole in general) among sorted slopes, kept inside.
double at_place(const std::vector<double>& sorted, double place) {
  const auto last = static_cast<double>(sorted.size());
  return sorted[static_cast<std::size_t>(std::clamp(std::round(place), 1.0, last)) - 1];
}

std::vector<double> block_medians(std::span<const double> samples, std::size_t block) {
  std::vector<double> medians;
  for (std::size_t at = samples.size() % block; at + block <= samples.size(); at += block)
    medians.push_back(median(samples.subspan(at, block)));
  return medians;
}

}  // namespace

Trend mann_kendall(std::span<const double> samples) {
  const std::size_t n = samples.size();
  if (n < 3) throw std::invalid_argument("mann_kendall: " + std::to_string(n) + " samples, expected 3 or more");
  Trend trend;
  std::vector<double> slopes;
  slopes.reserve(n * (n - 1) / 2);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const double rise = samples[j] - samples[i];
      trend.score += rise > 0.0 ? 1.0 : (rise < 0.0 ? -1.0 : 0.0);
      slopes.push_back(rise / static_cast<double>(j - i));
    }
  }
  trend.variance = score_variance(samples);
  trend.slope = median(slopes);
  std::sort(slopes.begin(), slopes.end());
  const double spread = std::sqrt(std::max(0.0, trend.variance));
  const double reach = normal_quantile(0.975) * spread;
  const auto pairs = static_cast<double>(slopes.size());
  trend.low = at_place(slopes, (pairs - reach) / 2.0);
  trend.high = at_place(slopes, (pairs + reach) / 2.0 + 1.0);
  if (spread > 0.0) {
    const double z = std::max(0.0, std::abs(trend.score) - 1.0) / spread;
    trend.p_value = std::min(1.0, 2.0 * normal_cdf(-z));
  }
  return trend;
}

Drift drift(std::span<const double> samples) {
  const std::size_t n = samples.size();
  if (n < 3) throw std::invalid_argument("drift: " + std::to_string(n) + " samples, expected 3 or more");
  const std::size_t least = (n + most_blocks - 1) / most_blocks;
  const double first_slope = [&] {
    const std::vector<double> medians = block_medians(samples, least);
    return mann_kendall(medians).slope / static_cast<double>(least);
  }();
  std::vector<double> level(samples.begin(), samples.end());
  for (std::size_t i = 0; i < n; ++i) level[i] -= first_slope * static_cast<double>(i);
  const double time = integrated_autocorrelation_time(level);
  Drift result;
  result.block = std::max(least, time > 1.5 ? static_cast<std::size_t>(std::ceil(2.0 * time)) : 1);
  result.blocks = n / result.block;
  if (result.blocks < 3) {
    result.slope = first_slope;
  } else {
    const Trend trend = mann_kendall(block_medians(samples, result.block));
    result.slope = trend.slope / static_cast<double>(result.block);
    if (result.blocks >= minimum_blocks) result.p_value = trend.p_value;
  }
  result.change = result.slope * static_cast<double>(n - 1);
  return result;
}

}  // namespace ddpprof::stats
