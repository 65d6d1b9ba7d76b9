#include "simulator/learning_rate/tuned_rate.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace ddpprof::learning_rate {

stats::Interval tuned_rate(const TunedExponents& exponents, double base_lr, double kappa) {
  for (const double value : {base_lr, kappa})
    if (!(value > 0.0) || !std::isfinite(value))
      throw std::invalid_argument("tuned rate: the base rate or the ratio of batches is " + std::to_string(value) +
                                  ", expected more than 0");
  const double low = base_lr * std::pow(kappa, exponents.low), high = base_lr * std::pow(kappa, exponents.high);
  return {std::min(low, high), base_lr * std::pow(kappa, exponents.mid), std::max(low, high), 0.0};
}

}  // namespace ddpprof::learning_rate
