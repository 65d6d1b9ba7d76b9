#include "simulator/stats/normal.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "simulator/stats/random.hpp"

namespace ddpprof::stats {

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

double normal_quantile(double probability) {
  if (!(probability > 0.0 && probability < 1.0)) {
    throw std::invalid_argument("normal_quantile: probability " + std::to_string(probability) +
                                ", expected between 0 and 1");
  }
  if (probability == 0.5) return 0.0;
  // Work in the lower tail, where erfc keeps its relative precision, and mirror at the end.
  const bool upper = probability > 0.5;
  const double p = upper ? 1.0 - probability : probability;
  // Start: Abramowitz and Stegun 26.2.23, absolute error below 4.5e-4.
  const double t = std::sqrt(-2.0 * std::log(p));
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  // Halley's steps on cdf(x) = p: f'' / f' = -x, and each step about triples the digits.
  constexpr double root_two_pi = 2.5066282746310002;
  for (int step = 0; step < 2; ++step) {
    const double u = (normal_cdf(x) - p) * root_two_pi * std::exp(0.5 * x * x);
    x -= u / (1.0 + 0.5 * x * u);
  }
  return upper ? -x : x;
}

double blom_expected_max(std::int64_t count) {
  if (count < 1) {
    throw std::invalid_argument("blom_expected_max: " + std::to_string(count) + " samples, expected 1 or more");
  }
  if (count == 1) return 0.0;
  const auto n = static_cast<double>(count);
  return normal_quantile((n - 0.375) / (n + 0.25));
}

double Random::normal() { return normal_quantile(uniform()); }

}  // namespace ddpprof::stats
