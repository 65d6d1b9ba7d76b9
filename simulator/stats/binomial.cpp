#include "simulator/stats/binomial.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace ddpprof::stats {

double binomial_upper_tail(std::int64_t trials, std::int64_t successes, double probability) {
  if (trials < 0) throw std::invalid_argument("binomial_upper_tail: " + std::to_string(trials) + " trials");
  if (!(probability >= 0.0 && probability <= 1.0)) {
    throw std::invalid_argument("binomial_upper_tail: probability " + std::to_string(probability) +
                                ", expected 0 to 1");
  }
  if (successes <= 0) return 1.0;
  if (successes > trials || probability == 0.0) return 0.0;
  if (probability == 1.0) return 1.0;
  const double n = static_cast<double>(trials), log_p = std::log(probability), log_q = std::log1p(-probability);
  double sum = 0.0;
  for (std::int64_t i = trials; i >= successes; --i) {  // the far end first: its terms are the smallest
    const auto k = static_cast<double>(i);
    sum +=
        std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) + k * log_p + (n - k) * log_q);
  }
  return std::min(1.0, sum);
}

}  // namespace ddpprof::stats
