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

double quantile(std::span<const double> samples, double probability) {
  require_samples(samples, "quantile");
  if (!(probability >= 0.0 && probability <= 1.0)) {
    throw std::invalid_argument("quantile: probability " + std::to_string(probability) + ", expected 0 to 1");
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  const double place = probability * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(std::floor(place));
  std::nth_element(sorted.begin(), sorted.begin() + below, sorted.end());
  const double low = sorted[static_cast<std::size_t>(below)];
  const double share = place - std::floor(place);
  if (share == 0.0) return low;
  const double high = *std::min_element(sorted.begin() + below + 1, sorted.end());
  return low + share * (high - low);
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
