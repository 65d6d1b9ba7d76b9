#include "simulator/stats/summary.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace ddpprof::stats {
namespace {

void require_samples(std::span<const double> samples, const char* what) {
  if (samples.empty()) throw std::invalid_argument(std::string(what) + ": no samples, expected at least one");
}

}  // namespace

double mean(std::span<const double> samples) {
  require_samples(samples, "mean");
  double sum = 0.0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

std::pair<double, double> quantiles(std::span<const double> samples, double low, double high) {
  require_samples(samples, "quantile");
  if (!(low >= 0.0 && low <= high && high <= 1.0)) {
    throw std::invalid_argument("quantile: probability " + std::to_string(low) + " to " + std::to_string(high) +
                                ", expected 0 to 1");
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  // All before `begin` are smaller than what is looked for.
  const auto find = [&](double probability, std::ptrdiff_t begin) {
    const double place = probability * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::ptrdiff_t>(std::floor(place));
    if (below >= begin) std::nth_element(sorted.begin() + begin, sorted.begin() + below, sorted.end());
    const double value = sorted[static_cast<std::size_t>(below)], share = place - std::floor(place);
    if (share == 0.0) return value;
    return value + share * (*std::min_element(sorted.begin() + below + 1, sorted.end()) - value);
  };
  const double at_low = find(low, 0);
  const auto begin = static_cast<std::ptrdiff_t>(std::floor(low * static_cast<double>(sorted.size() - 1))) + 1;
  return {at_low, find(high, begin)};
}

double quantile(std::span<const double> samples, double probability) {
  return quantiles(samples, probability, probability).first;
}

double median(std::span<const double> samples) { return quantile(samples, 0.5); }

double standard_deviation(std::span<const double> samples) {
  const double center = mean(samples);
  if (samples.size() == 1) return 0.0;
  double squares = 0.0;
  for (const double sample : samples) squares += (sample - center) * (sample - center);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

double mad(std::span<const double> samples) {
  const double center = median(samples);
  std::vector<double> deviations(samples.size());
  std::transform(samples.begin(), samples.end(), deviations.begin(),
                 [center](double sample) { return std::abs(sample - center); });
  return median(deviations);
}

double mad_sigma(std::span<const double> samples) { return 1.4826022185056018 * mad(samples); }

}  // namespace ddpprof::stats
