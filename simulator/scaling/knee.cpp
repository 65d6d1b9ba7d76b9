#include "simulator/scaling/knee.hpp"

#include <stdexcept>
#include <string>

namespace ddpprof::scaling {
namespace {

double checked_positive(double value, const char* name) {
  if (!(value > 0.0)) {
    throw std::invalid_argument(std::string(name) + " is " + std::to_string(value) + ", expected more than 0");
  }
  return value;
}

}  // namespace

std::optional<std::int64_t> knee(std::span<const ScalingPoint> points, double share) {
  checked_positive(share, "share");
  std::optional<std::int64_t> smallest;
  for (const ScalingPoint& point : points) {
    const bool bound = point.exposed_s > share * checked_positive(point.step_s, "step_s");
    if (bound && (!smallest || point.workers < *smallest)) smallest = point.workers;
  }
  return smallest;
}

}  // namespace ddpprof::scaling
