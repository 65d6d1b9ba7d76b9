#include "simulator/stats/ratio.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "simulator/stats/normal.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::stats {
namespace {

constexpr std::size_t resamples = 1000;

// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  const auto not_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1.0, d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0)), fraction = d;
  const auto step = [&](double term) {
    d = 1.0 / not_zero(1.0 + term * d);
    c = not_zero(1.0 + term / c);
    fraction *= c * d;
    return std::abs(c * d - 1.0) < 1e-15;
  };
  for (int i = 1; i <= 10000; ++i) {
    const double m = i, at = a + 2.0 * m;
    step(m * (b - m) * x / ((at - 1.0) * at));
    if (step(-(a + m) * (a + b + m) * x / (at * (at + 1.0)))) break;
  }
  return fraction;
}

// P(|T| <= t) for any degrees of freedom: the incomplete beta function of t^2 / (degrees + t^2).
double within(double t, double degrees) {
  if (!(t > 0.0)) return 0.0;
  const double a = 0.5, b = 0.5 * degrees, x = t * t / (degrees + t * t), rest = degrees / (degrees + t * t);
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
  return x < (a + 1.0) / (a + b + 2.0) ? front * beta_fraction(a, b, x) / a
                                       : 1.0 - front * beta_fraction(b, a, rest) / b;
}

struct Side {
  std::vector<std::span<const double>> repeats;
  std::vector<double> all;
};

Side side_of(std::span<const std::vector<double>> repeats, const std::string& name) {
  Side side;
  for (const std::vector<double>& repeat : repeats) {
    if (repeat.empty()) continue;
    side.repeats.emplace_back(repeat);
    side.all.insert(side.all.end(), repeat.begin(), repeat.end());
  }
  if (side.all.empty()) throw std::invalid_argument(name + ": no samples, expected at least one");
  return side;
}

void require_positive(const Side& side, const std::string& name) {
  for (const double value : side.all) {
    if (!(value > 0.0))
      throw std::invalid_argument(name + " holds " + std::to_string(value) + ", expected positive numbers");
  }
}

void require_confidence(double confidence, const std::string& name) {
  if (!(confidence > 0.0 && confidence < 1.0)) {
    throw std::invalid_argument(name + ": confidence " + std::to_string(confidence) + ", expected between 0 and 1");
  }
}

double drawn_median(const Side& side, Random& random, std::vector<double>& room) {
  room.clear();
  for (std::size_t i = 0; i < side.repeats.size(); ++i) {
    const std::span<const double> drawn =
        side.repeats.size() == 1 ? side.repeats.front() : side.repeats[random.below(side.repeats.size())];
    for (std::size_t j = 0; j < drawn.size(); ++j) room.push_back(drawn[random.below(drawn.size())]);
  }
  return median(room);
}

// How much wider a side's own bootstrap must be: resampling n repeats shows (n - 1) / n of their variance.
double own_widening(const Side& side) {
  const auto n = static_cast<double>(side.repeats.size());
  return n < 2.0 ? 1.0 : std::sqrt(n / (n - 1.0));
}

// Welch's and Satterthwaite's degrees of freedom of a difference of two estimates, the variances the bootstrap's. A
// side with one repeat has none to count and no spread of its repeats that few of them could misjudge.
double degrees_of(const Side& a, double variance_a, const Side& b, double variance_b) {
  const auto free = [](const Side& side) { return static_cast<double>(side.repeats.size()) - 1.0; };
  const auto part = [&](const Side& side, double variance) {
    return free(side) > 0.0 ? variance * variance / free(side) : 0.0;
  };
  const double parts = part(a, variance_a) + part(b, variance_b), whole = variance_a + variance_b;
  if (free(a) + free(b) == 0.0 || (parts == 0.0 && whole > 0.0)) return std::numeric_limits<double>::infinity();
  return parts > 0.0 ? std::max(1.0, whole * whole / parts) : std::max(1.0, free(a) + free(b));
}

struct Deviations {
  double low = 0, high = 0;  // of first - second from what was measured, widened
};

// Both sides' medians on `scale` drawn again and again.
Deviations deviations(const Side& first, const Side& second, double confidence, double (*scale)(double)) {
  const double first_mid = scale(median(first.all)), second_mid = scale(median(second.all));
  const double first_wider = own_widening(first), second_wider = own_widening(second);
  Random random(1);
  std::vector<double> of_first(resamples), of_second(resamples), both(resamples), room;
  for (std::size_t i = 0; i < resamples; ++i) {
    of_first[i] = first_wider * (scale(drawn_median(first, random, room)) - first_mid);
    of_second[i] = second_wider * (scale(drawn_median(second, random, room)) - second_mid);
    both[i] = of_first[i] - of_second[i];
  }
  const double probability = 0.5 * (1.0 + confidence);
  const auto [low, high] = quantiles(both, 1.0 - probability, probability);
  const auto squared = [](double value) { return value * value; };
  const double degrees =
      degrees_of(first, squared(standard_deviation(of_first)), second, squared(standard_deviation(of_second)));
  const double wider =
      std::isinf(degrees) ? 1.0 : student_quantile(probability, degrees) / normal_quantile(probability);
  return {wider * std::min(0.0, low), wider * std::max(0.0, high)};
}

double achieved(const Side& first, const Side& second, double confidence) {
  const auto fewest = static_cast<double>(std::min(first.all.size(), second.all.size()));
  return std::min(confidence, 1.0 - std::exp2(1.0 - fewest));
}

}  // namespace

double student_quantile(double probability, double degrees) {
  if (!(probability > 0.0 && probability < 1.0) || !(degrees >= 1.0)) {
    throw std::invalid_argument("student_quantile: probability " + std::to_string(probability) + " and " +
                                std::to_string(degrees) + " degrees, expected between 0 and 1, and 1 or more");
  }
  const double inside = std::abs(2.0 * probability - 1.0);
  double low = 0.0, high = 1.0;
  while (within(high, degrees) < inside && high < 1e150) high *= 2.0;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    (within(middle, degrees) < inside ? low : high) = middle;
  }
  return probability < 0.5 ? -high : high;
}

Interval clustered_ratio_interval(std::span<const std::vector<double>> numerator,
                                  std::span<const std::vector<double>> denominator, double confidence) {
  require_confidence(confidence, "clustered_ratio_interval");
  const Side above = side_of(numerator, "clustered_ratio_interval: the numerator");
  const Side below = side_of(denominator, "clustered_ratio_interval: the denominator");
  require_positive(above, "clustered_ratio_interval: the numerator");
  require_positive(below, "clustered_ratio_interval: the denominator");
  const Deviations off = deviations(above, below, confidence, [](double value) { return std::log(value); });
  const double mid = median(above.all) / median(below.all);
  return {mid * std::exp(off.low), mid, mid * std::exp(off.high), achieved(above, below, confidence)};
}

Interval clustered_difference_interval(std::span<const std::vector<double>> minuend,
                                       std::span<const std::vector<double>> subtrahend, double confidence) {
  require_confidence(confidence, "clustered_difference_interval");
  const Side from = side_of(minuend, "clustered_difference_interval: the minuend");
  const Side taken = side_of(subtrahend, "clustered_difference_interval: the subtrahend");
  const Deviations off = deviations(from, taken, confidence, [](double value) { return value; });
  const double mid = median(from.all) - median(taken.all);
  return {mid + off.low, mid, mid + off.high, achieved(from, taken, confidence)};
}

}  // namespace ddpprof::stats
