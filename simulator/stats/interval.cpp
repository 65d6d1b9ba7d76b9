#include "simulator/stats/interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::stats {
namespace {

void require_confidence(double confidence) {
  if (!(confidence > 0.0 && confidence < 1.0)) {
    throw std::invalid_argument("confidence " + std::to_string(confidence) + ", expected between 0 and 1");
  }
}

struct OrderStatistics {
  std::size_t dropped;  // k: samples left out at each end
  double coverage;
};

// Walks the lower tail of Binomial(n, 1/2) upwards while twice its mass still fits in 1 - confidence. The walk starts
// 20 standard deviations below the mean, below which no double could notice the mass.
OrderStatistics order_statistics(std::size_t count, double confidence) {
  const auto n = static_cast<double>(count);
  const double allowed = (1.0 - confidence) / 2.0;
  const double first = std::max(0.0, std::floor(n / 2.0 - 10.0 * std::sqrt(n)));
  double mass =
      std::exp(std::lgamma(n + 1.0) - std::lgamma(first + 1.0) - std::lgamma(n - first + 1.0) - n * std::log(2.0));
  if (mass > allowed) return {0, 1.0 - 2.0 * std::min(0.5, mass)};
  double tail = mass;
  double k = first;
  while (2.0 * (k + 1.0) < n - 1.0) {
    mass *= (n - k) / (k + 1.0);
    if (tail + mass > allowed) break;
    tail += mass;
    k += 1.0;
  }
  return {static_cast<std::size_t>(k), 1.0 - 2.0 * tail};
}

}  // namespace

double Interval::relative_half_width() const {
  const double half = (high - low) / 2.0;
  if (half == 0.0) return 0.0;
  return mid == 0.0 ? std::numeric_limits<double>::infinity() : half / std::abs(mid);
}

Interval median_interval(std::span<const double> samples, double confidence) {
  require_confidence(confidence);
  if (samples.empty()) throw std::invalid_argument("median_interval: no samples, expected at least one");
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  // P(X <= 0) = 2^-n: when even the full range does not reach the confidence, the range is what there is to give.
  const double range_coverage = 1.0 - std::exp2(1.0 - static_cast<double>(sorted.size()));
  OrderStatistics chosen{0, range_coverage};
  if (range_coverage >= confidence) {
    // Order statistics x(k+1) … x(n-k) (1-based) leave out k at each end.
    chosen = order_statistics(sorted.size(), confidence);
  }
  return {sorted[chosen.dropped], median(sorted), sorted[sorted.size() - 1 - chosen.dropped], chosen.coverage};
}

Interval clustered_median_interval(std::span<const std::vector<double>> repeats, double confidence) {
  constexpr int resamples = 1000;
  constexpr double usual_confidence = 0.95;
  require_confidence(confidence);
  std::vector<double> all;
  std::vector<std::span<const double>> clusters;
  for (const std::vector<double>& repeat : repeats) {
    if (repeat.empty()) continue;
    clusters.emplace_back(repeat);
    all.insert(all.end(), repeat.begin(), repeat.end());
  }
  if (clusters.size() < 2) return median_interval(all, confidence);

  // If repeats contradict each other, their number alone limits the coverage. The interval then does not depend on the
  // confidence, so tables of other confidences have one interval.
  const double usual = std::max(confidence, usual_confidence);
  double largest_low = -std::numeric_limits<double>::infinity();
  double smallest_high = std::numeric_limits<double>::infinity();
  for (const std::span<const double> cluster : clusters) {
    const Interval own = median_interval(cluster, usual);
    largest_low = std::max(largest_low, own.low);
    smallest_high = std::min(smallest_high, own.high);
  }
  const double range_coverage = 1.0 - std::exp2(1.0 - static_cast<double>(clusters.size()));
  const bool limited = largest_low > smallest_high && range_coverage < confidence;
  const double level = limited ? usual : confidence;

  Interval interval;
  interval.mid = median(all);
  Random random(1);
  std::vector<double> medians(resamples);
  std::vector<double> resample;
  for (double& value : medians) {
    resample.clear();
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      const std::span<const double> drawn = clusters[random.below(clusters.size())];
      for (std::size_t j = 0; j < drawn.size(); ++j) resample.push_back(drawn[random.below(drawn.size())]);
    }
    value = median(resample);
  }
  interval.low = std::min(interval.mid, quantile(medians, (1.0 - level) / 2.0));
  interval.high = std::max(interval.mid, quantile(medians, (1.0 + level) / 2.0));
  interval.achieved_confidence = limited ? range_coverage : confidence;
  // Fewer samples in all than the confidence takes: no resampling makes up for them.
  interval.achieved_confidence =
      std::min(interval.achieved_confidence, 1.0 - std::exp2(1.0 - static_cast<double>(all.size())));
  return interval;
}

}  // namespace ddpprof::stats
