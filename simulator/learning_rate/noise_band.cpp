#include "simulator/learning_rate/noise_band.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulator/stats/autocorrelation.hpp"
#include "simulator/stats/ratio.hpp"

namespace ddpprof::learning_rate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// Means over equal blocks, their means and the covariance of those.
struct Means {
  double x = 0.0, y = 0.0;
  double xx = 0.0, xy = 0.0, yy = 0.0;
};

NoiseSample mean_of(std::span<const NoiseSample> samples) {
  NoiseSample sum;
  for (const NoiseSample& sample : samples) {
    sum.gradient_sqr += sample.gradient_sqr;
    sum.trace += sample.trace;
  }
  const auto n = static_cast<double>(samples.size());
  return {sum.gradient_sqr / n, sum.trace / n};
}

Means means_of(std::span<const NoiseSample> samples, std::size_t block) {
  const std::size_t blocks = samples.size() / block;
  std::vector<NoiseSample> of_blocks;
  for (std::size_t i = 0; i < blocks; ++i) of_blocks.push_back(mean_of(samples.subspan(i * block, block)));
  const NoiseSample mean = mean_of(of_blocks);
  Means means{mean.trace, mean.gradient_sqr};
  for (const NoiseSample& one : of_blocks) {
    const double dx = one.trace - mean.trace, dy = one.gradient_sqr - mean.gradient_sqr;
    means.xx += dx * dx;
    means.xy += dx * dy;
    means.yy += dy * dy;
  }
  const auto n = static_cast<double>(blocks);
  for (double* sum : {&means.xx, &means.xy, &means.yy}) *sum /= n * (n - 1.0);
  return means;
}

// Every R >= 0 with (x - R y)^2 <= t^2 var(x - R y): a R^2 - 2 b R + c <= 0.
stats::Interval fieller(const Means& of, double t) {
  const double a = of.y * of.y - t * t * of.yy, b = of.x * of.y - t * t * of.xy, c = of.x * of.x - t * t * of.xx;
  stats::Interval interval;
  interval.mid = of.y > 0.0 ? std::max(0.0, of.x / of.y) : infinite;
  const double root = std::sqrt(std::max(0.0, b * b - a * c));
  const double q = b >= 0.0 ? b + root : b - root;  // no cancellation: the roots are q / a and c / q
  if (!(of.y > 0.0) || !(a > 0.0)) {
    // |G|^2 may be 0. Below 0 it is by chance alone, so that its mean says nothing of where phi begins.
    interval.low = of.y > 0.0 && of.x > 0.0 && c > 0.0 ? std::max(0.0, q > 0.0 ? c / q : 0.0) : 0.0;
    interval.high = infinite;
    return interval;
  }
  const double one = q / a, other = q != 0.0 ? c / q : 0.0;
  interval.low = std::max(0.0, std::min(one, other));
  interval.high = std::max(0.0, std::max(one, other));
  return interval;
}

}  // namespace

std::optional<NoiseBand> noise_band(std::span<const NoiseSample> samples, double confidence) {
  if (!(confidence > 0.0 && confidence < 1.0))
    throw std::invalid_argument("noise band: a confidence of " + std::to_string(confidence) +
                                ", expected more than 0 and less than 1");
  for (const NoiseSample& sample : samples)
    if (!std::isfinite(sample.gradient_sqr) || !std::isfinite(sample.trace))
      throw std::invalid_argument("noise band: a sample that is not finite");
  if (samples.size() < fewest_blocks) return std::nullopt;
  const NoiseSample mean = mean_of(samples);
  const double ratio = mean.gradient_sqr > 0.0 ? mean.trace / mean.gradient_sqr : 0.0;
  std::vector<double> deviations;
  for (const NoiseSample& sample : samples)
    deviations.push_back(ratio > 0.0 ? sample.trace - ratio * sample.gradient_sqr : sample.gradient_sqr);
  const double resembling = stats::integrated_autocorrelation_time(deviations);
  const auto n = static_cast<double>(samples.size());
  std::size_t blocks = std::min(most_blocks, static_cast<std::size_t>(n / (5.0 * resembling)));
  if (blocks < fewest_blocks) blocks = std::min(fewest_blocks, static_cast<std::size_t>(n / (2.0 * resembling)));
  if (blocks < fewest_blocks) return std::nullopt;
  const std::size_t block = samples.size() / blocks;
  const std::span<const NoiseSample> used = samples.subspan(samples.size() - block * blocks);
  NoiseBand band;
  band.noise_scale_samples =
      fieller(means_of(used, block), stats::student_quantile(0.5 + confidence / 2.0, static_cast<double>(blocks - 1)));
  band.noise_scale_samples.achieved_confidence = confidence;
  band.steps = used.size();
  band.blocks = blocks;
  return band;
}

}  // namespace ddpprof::learning_rate
