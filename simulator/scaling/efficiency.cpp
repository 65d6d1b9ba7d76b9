#include "simulator/scaling/efficiency.hpp"

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

double count(std::int64_t workers) { return checked_positive(static_cast<double>(workers), "workers"); }

}  // namespace

double throughput(std::int64_t workers, double samples_per_worker, double step_s) {
  return count(workers) * checked_positive(samples_per_worker, "samples_per_worker") /
         checked_positive(step_s, "step_s");
}

double speedup(double throughput, double throughput_of_one) {
  return checked_positive(throughput, "throughput") / checked_positive(throughput_of_one, "throughput_of_one");
}

double weak_efficiency(std::int64_t workers, double throughput, double throughput_of_one) {
  return speedup(throughput, throughput_of_one) / count(workers);
}

double strong_efficiency(std::int64_t workers, double step_s, double step_of_one_s) {
  return checked_positive(step_of_one_s, "step_of_one_s") / (count(workers) * checked_positive(step_s, "step_s"));
}

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
