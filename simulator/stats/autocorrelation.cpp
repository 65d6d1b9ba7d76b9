#include "simulator/stats/autocorrelation.hpp"

#include <algorithm>
#include <vector>

#include "simulator/stats/summary.hpp"

namespace ddpprof::stats {
namespace {

constexpr std::size_t most_lags = 1000;

std::vector<double> centred(std::span<const double> samples) {
  std::vector<double> values(samples.begin(), samples.end());
  const double center = mean(samples);
  for (double& value : values) value -= center;
  return values;
}

double product_sum(const std::vector<double>& values, std::size_t lag) {
  double sum = 0.0;
  for (std::size_t i = 0; i + lag < values.size(); ++i) sum += values[i] * values[i + lag];
  return sum;
}

}  // namespace

double integrated_autocorrelation_time(std::span<const double> samples) {
  if (samples.size() < 4) return 1.0;
  const std::vector<double> values = centred(samples);
  const double squares = product_sum(values, 0);
  if (!(squares > 0.0)) return 1.0;
  // tau = -1 + 2 * sum over k of (rho_2k + rho_(2k+1)), the first pair holding rho_0 = 1.
  double sum = 0.0;
  double before = 2.0;  // no pair is larger
  const std::size_t lags = std::min(samples.size() - 1, most_lags);
  for (std::size_t lag = 0; lag + 1 <= lags; lag += 2) {
    const double pair = std::min(before, (product_sum(values, lag) + product_sum(values, lag + 1)) / squares);
    if (!(pair > 0.0)) break;
    sum += pair;
    before = pair;
  }
  return std::max(1.0, 2.0 * sum - 1.0);
}

double effective_sample_size(std::span<const double> samples) {
  return static_cast<double>(samples.size()) / integrated_autocorrelation_time(samples);
}

double median_effective_size(std::span<const double> samples) {
  if (samples.empty()) return 0.0;
  const double center = median(samples);
  std::vector<double> below(samples.size());
  std::transform(samples.begin(), samples.end(), below.begin(),
                 [center](double sample) { return sample <= center ? 1.0 : 0.0; });
  return effective_sample_size(below);
}

}  // namespace ddpprof::stats
