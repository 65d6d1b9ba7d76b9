#include "simulator/learning_rate/samples_to_target.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace ddpprof::learning_rate {
namespace {

// Grid of ln(B_crit / largest measured batch): from a batch that saves no steps to one that costs no samples.
constexpr double grid_low = -4.0, grid_high = 8.0, grid_step = 0.1;
constexpr double prior_freedom = 2.0;

void check_positive(double value, const char* name) {
  if (!(value > 0.0) || !std::isfinite(value))
    throw std::invalid_argument("samples to target: " + std::string(name) + " is " + std::to_string(value) +
                                ", expected more than 0");
}

using Vector = std::vector<double>;

double product(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Lower triangle of a covariance, and L x = b.
struct Cholesky {
  std::vector<Vector> lower;

  explicit Cholesky(const std::vector<Vector>& covariance) : lower(covariance) {
    for (std::size_t i = 0; i < lower.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        double value = covariance[i][j];
        for (std::size_t k = 0; k < j; ++k) value -= lower[i][k] * lower[j][k];
        lower[i][j] = i == j ? std::sqrt(value) : value / lower[j][j];
      }
  }
  Vector solve(Vector b) const {
    for (std::size_t i = 0; i < b.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) b[i] -= lower[i][k] * b[k];
      b[i] /= lower[i][i];
    }
    return b;
  }
};

// Density of Student's t without the factor that depends on the degrees of freedom alone.
double student_kernel(double z, double freedom) { return std::pow(1.0 + z * z / freedom, -(freedom + 1.0) / 2.0); }

double student_factor(double freedom) {
  return std::exp(std::lgamma((freedom + 1.0) / 2.0) - std::lgamma(freedom / 2.0)) /
         std::sqrt(freedom * 3.14159265358979323846);
}

}  // namespace

SamplesLaw::SamplesLaw(std::span<const BatchSamples> measured, double batch, double scatter, double drift) {
  if (measured.empty()) throw std::invalid_argument("samples to target: no measured batch");
  check_positive(batch, "the batch");
  Vector log_batch, log_samples;
  for (const BatchSamples& one : measured) {
    check_positive(one.batch, "a measured batch");
    check_positive(one.samples, "the samples of a measured batch");
    log_batch.push_back(std::log(one.batch));
    log_samples.push_back(std::log(one.samples));
  }
  const std::size_t n = measured.size();
  const double least = std::min(*std::ranges::min_element(log_batch), std::log(batch));
  const double most = *std::ranges::max_element(log_batch);
  const auto walk = [&](double a, double b) { return drift * drift * (std::min(a, b) - least) / std::log(2.0); };
  std::vector<Vector> covariance(n, Vector(n));
  Vector between(n);
  for (std::size_t i = 0; i < n; ++i) {
    between[i] = walk(log_batch[i], std::log(batch));
    for (std::size_t j = 0; j < n; ++j)
      covariance[i][j] = walk(log_batch[i], log_batch[j]) + (i == j ? scatter * scatter : 0.0);
  }
  const Cholesky cholesky(covariance);
  const Vector ones = cholesky.solve(Vector(n, 1.0)), to_batch = cholesky.solve(between);
  const double precision = product(ones, ones), share = 1.0 - product(to_batch, ones);
  degrees_ = static_cast<double>(n) - 1.0;
  variance_ = walk(std::log(batch), std::log(batch)) + scatter * scatter - product(to_batch, to_batch) +
              share * share / precision;
  const auto growth = [&](double log_of_batch, double u) { return std::log1p(std::exp(log_of_batch - most - u)); };
  for (double u = grid_low; u < grid_high + 0.5 * grid_step; u += grid_step) {
    Vector rest(n);
    for (std::size_t i = 0; i < n; ++i) rest[i] = log_samples[i] - growth(log_batch[i], u);
    Vector scaled = cholesky.solve(std::move(rest));
    const double log_least = product(scaled, ones) / precision;
    for (std::size_t i = 0; i < n; ++i) scaled[i] -= log_least * ones[i];
    candidates_.push_back(
        {u, product(scaled, scaled), log_least + growth(std::log(batch), u) + product(scaled, to_batch)});
  }
}

std::vector<SamplesLaw::Component> SamplesLaw::components(const TargetConstants& constants) const {
  const double freedom = constants.freedom + degrees_;
  std::vector<Component> all;
  double sum = 0.0;
  // Integrated over the size of scatter and drift, whose inverse square has a gamma distribution.
  for (const Candidate& one : candidates_) {
    const double prior =
        student_kernel((one.log_critical - constants.critical_centre) / constants.critical_scale, prior_freedom);
    const double weight = prior * std::pow(1.0 + one.misfit / constants.freedom, -freedom / 2.0);
    all.push_back({weight, one.mean, std::sqrt(variance_ * (constants.freedom + one.misfit) / freedom)});
    sum += weight;
  }
  for (Component& one : all) one.weight /= sum;
  std::erase_if(all, [](const Component& one) { return one.weight < 1e-7; });
  return all;
}

double SamplesLaw::density(double log_samples, const TargetConstants& constants) const {
  const double freedom = constants.freedom + degrees_;
  double sum = 0.0;
  for (const Component& one : components(constants))
    sum += one.weight / one.scale * student_kernel((log_samples - one.mean) / one.scale, freedom);
  return sum * student_factor(freedom);
}

stats::Interval SamplesLaw::interval(const TargetConstants& constants, double confidence) const {
  if (!(confidence > 0.0 && confidence < 1.0))
    throw std::invalid_argument("samples to target: a confidence of " + std::to_string(confidence) +
                                ", expected more than 0 and below 1");
  const std::vector<Component> all = components(constants);
  const double freedom = constants.freedom + degrees_;
  double low = all.front().mean, high = low, scale = 0.0;
  for (const Component& one : all) {
    low = std::min(low, one.mean);
    high = std::max(high, one.mean);
    scale = std::max(scale, one.scale);
  }
  low -= 30.0 * scale, high += 30.0 * scale;
  constexpr std::size_t points = 4000;
  const double step = (high - low) / static_cast<double>(points);
  Vector below(points + 1, 0.0);
  for (std::size_t i = 1; i <= points; ++i) {
    const double at = low + (static_cast<double>(i) - 0.5) * step;
    double sum = 0.0;
    for (const Component& one : all) {
      const double z = (at - one.mean) / one.scale;
      if (std::abs(z) < 60.0) sum += one.weight / one.scale * student_kernel(z, freedom);
    }
    below[i] = below[i - 1] + sum;
  }
  const auto quantile = [&](double probability) {
    const double asked = probability * below.back();
    const auto after = std::ranges::lower_bound(below, asked) - below.begin();
    const auto i = static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, after));
    const double part = (asked - below[i - 1]) / (below[i] - below[i - 1]);
    return low + (static_cast<double>(i) - 1.0 + part) * step;
  };
  const double mid = quantile(0.5);
  const double fewest = mid - constants.widening * (mid - quantile(0.5 - confidence / 2.0));
  const double most = mid + constants.widening * (quantile(0.5 + confidence / 2.0) - mid);
  return {std::exp(fewest), std::exp(mid), std::exp(most), confidence};
}

stats::Interval samples_to_target(std::span<const BatchSamples> measured, double batch,
                                  const TargetConstants& constants, double confidence) {
  return SamplesLaw(measured, batch, constants.scatter, constants.drift).interval(constants, confidence);
}

}  // namespace ddpprof::learning_rate
