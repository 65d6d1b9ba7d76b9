#include "simulator/stats/stopping.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "simulator/stats/interval.hpp"

namespace ddpprof::stats {

bool enough(std::span<const double> samples, double max_percent) {
  if (!(max_percent > 0.0)) {
    throw std::invalid_argument("enough: " + std::to_string(max_percent) + " %, expected a positive share");
  }
  if (samples.size() < minimum_samples) return false;
  const Interval interval = median_interval(samples, 0.95);
  const double allowed = std::abs(interval.mid) * max_percent / 100.0;
  return interval.high - interval.mid <= allowed && interval.mid - interval.low <= allowed;
}

}  // namespace ddpprof::stats
