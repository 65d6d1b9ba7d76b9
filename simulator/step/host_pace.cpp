#include "simulator/step/host_pace.hpp"

#include <algorithm>
#include <cmath>

namespace ddpprof::step {

double HostPace::launches() const { return std::pow(1.0 - std::pow(1.0 - idle_share, power), 1.0 / power); }

double HostPace::phase(double device, double host) const {
  if (idle_share == 0.0) return device;
  if (device == 1.0 && host == 1.0) return 1.0;
  return std::pow(std::pow(busy(device), power) + std::pow(host * launches(), power), 1.0 / power);
}

double HostPace::device_for(double changed) const {
  if (idle_share == 0.0 || changed == 1.0) return changed;
  const double rest = std::pow(changed, power) - std::pow(launches(), power);
  return rest > 0.0 ? std::pow(rest, 1.0 / power) / (1.0 - idle_share) : 0.0;
}

}  // namespace ddpprof::step
