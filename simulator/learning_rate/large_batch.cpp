#include "simulator/learning_rate/large_batch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace ddpprof::learning_rate {
namespace {

void above_zero(double value, const char* name) {
  if (!(value > 0.0) || !std::isfinite(value))
    throw std::invalid_argument("large batch: " + std::string(name) + " is " + std::to_string(value) +
                                ", expected more than 0");
}

void check(double noise_scale_samples) {
  if (!(noise_scale_samples >= 0.0))
    throw std::invalid_argument("large batch: the noise scale is " + std::to_string(noise_scale_samples) +
                                " samples, expected 0 or more");
}

void check_share(double efficiency) {
  if (!(efficiency > 0.0 && efficiency <= 1.0))
    throw std::invalid_argument("large batch: an efficiency of " + std::to_string(efficiency) +
                                ", expected more than 0 and at most 1");
}

}  // namespace

double statistical_efficiency(double noise_scale_samples, double base_batch, double batch) {
  check(noise_scale_samples);
  above_zero(base_batch, "the base batch");
  above_zero(batch, "the batch");
  if (std::isinf(noise_scale_samples)) return 1.0;
  return (noise_scale_samples + base_batch) / (noise_scale_samples + batch);
}

double scaling_gain(double noise_scale_samples, double base_batch, double batch) {
  return batch / base_batch * statistical_efficiency(noise_scale_samples, base_batch, batch);
}

double steps_at_batch(double base_steps, double noise_scale_samples, double base_batch, double batch) {
  above_zero(base_steps, "the steps at the base batch");
  return base_steps / scaling_gain(noise_scale_samples, base_batch, batch);
}

stats::Interval steps_at_batch(double base_steps, const stats::Interval& noise, double base_batch, double batch) {
  const double few = steps_at_batch(base_steps, noise.high, base_batch, batch);
  const double many = steps_at_batch(base_steps, noise.low, base_batch, batch);
  const double mid = steps_at_batch(base_steps, noise.mid, base_batch, batch);
  const double confidence = noise.achieved_confidence;
  return batch >= base_batch ? stats::Interval{few, mid, many, confidence}
                             : stats::Interval{many, mid, few, confidence};
}

stats::Interval critical_batch(const stats::Interval& noise) {
  return {least_critical_share * noise.low, middle_critical_share * noise.mid, most_critical_share * noise.high,
          noise.achieved_confidence};
}

double batch_at_efficiency(double noise_scale_samples, double base_batch, double efficiency) {
  check(noise_scale_samples);
  above_zero(base_batch, "the base batch");
  check_share(efficiency);
  if (efficiency == 1.0) return base_batch;
  if (std::isinf(noise_scale_samples)) return noise_scale_samples;
  return base_batch / efficiency + noise_scale_samples * (1.0 - efficiency) / efficiency;
}

const char* to_string(Light light) {
  switch (light) {
    case Light::green:
      return "green";
    case Light::amber:
      return "amber";
    case Light::red:
      return "red";
  }
  return "?";
}

Light linear_rule_light(double noise_scale_samples, double base_batch, double batch) {
  const double efficiency = statistical_efficiency(noise_scale_samples, base_batch, batch);
  return efficiency <= red_efficiency ? Light::red : efficiency <= amber_efficiency ? Light::amber : Light::green;
}

WorkerLimits workers_at_efficiency(const stats::Interval& noise, double base_batch, double samples_per_worker,
                                   double efficiency) {
  above_zero(samples_per_worker, "the samples of a worker");
  const auto workers = [&](double noise_scale_samples) {
    double most = std::floor(batch_at_efficiency(noise_scale_samples, base_batch, efficiency) / samples_per_worker);
    if (most >= static_cast<double>(most_workers)) return most_workers;
    const double batch = most * samples_per_worker;  // at exactly the efficiency, the next rating has begun
    if (most > 0.0 && statistical_efficiency(noise_scale_samples, base_batch, batch) <= efficiency) --most;
    return static_cast<std::int64_t>(most);
  };
  return {workers(noise.low), workers(noise.mid), workers(noise.high)};
}

}  // namespace ddpprof::learning_rate
