#include "simulator/stats/ratio.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "simulator/stats/normal.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::stats {
namespace {

constexpr int resamples = 1000;

// P(|T| <= t) for whole degrees of freedom: a finite series (Abramowitz and Stegun 26.7.3 and 26.7.4).
double within(double t, int degrees) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1.0, sum = degrees == 1 ? 0.0 : term;
  for (int k = odd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= cosine * cosine * (static_cast<double>(k) - 1.0) / static_cast<double>(k);
    sum += term;
  }
  return odd ? 2.0 / std::numbers::pi * (angle + sine * sum) : sine * sum;
}

struct Side {
  std::vector<std::span<const double>> repeats;
  std::vector<double> all;
};

Side side_of(std::span<const std::vector<double>> repeats, const char* name) {
  Side side;
  for (const std::vector<double>& repeat : repeats) {
    if (repeat.empty()) continue;
    side.repeats.emplace_back(repeat);
    side.all.insert(side.all.end(), repeat.begin(), repeat.end());
  }
  if (side.all.empty()) throw std::invalid_argument(std::string("clustered_ratio_interval: no samples in the ") + name);
  for (const double value : side.all) {
    if (!(value > 0.0)) {
      throw std::invalid_argument(std::string("clustered_ratio_interval: the ") + name + " holds " +
                                  std::to_string(value) + ", expected positive numbers");
    }
  }
  return side;
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

// How much wider than the bootstrap's: 1 where a side has one repeat.
double widening(const Side& a, const Side& b, double confidence) {
  const std::size_t fewest = std::min(a.repeats.size(), b.repeats.size());
  if (fewest < 2) return 1.0;
  const double probability = 0.5 * (1.0 + confidence);
  const int degrees = static_cast<int>(std::min<std::size_t>(1000, a.repeats.size() + b.repeats.size() - 2));
  const auto n = static_cast<double>(fewest);
  return std::sqrt(n / (n - 1.0)) * student_quantile(probability, degrees) / normal_quantile(probability);
}

}  // namespace

double student_quantile(double probability, int degrees) {
  if (!(probability > 0.0 && probability < 1.0) || degrees < 1) {
    throw std::invalid_argument("student_quantile: probability " + std::to_string(probability) + " and " +
                                std::to_string(degrees) + " degrees, expected between 0 and 1, and 1 or more");
  }
  const double inside = std::abs(2.0 * probability - 1.0);
  double low = 0.0, high = 1.0;
  while (within(high, degrees) < inside && high < 1e300) high *= 2.0;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = 0.5 * (low + high);
    (within(middle, degrees) < inside ? low : high) = middle;
  }
  return probability < 0.5 ? -high : high;
}

Interval clustered_ratio_interval(std::span<const std::vector<double>> numerator,
                                  std::span<const std::vector<double>> denominator, double confidence) {
  if (!(confidence > 0.0 && confidence < 1.0))
    throw std::invalid_argument("clustered_ratio_interval: confidence " + std::to_string(confidence) +
                                ", expected between 0 and 1");
  const Side above = side_of(numerator, "numerator"), below = side_of(denominator, "denominator");
  Interval interval;
  interval.mid = median(above.all) / median(below.all);
  Random random(1);
  std::vector<double> ratios(resamples), room;
  for (double& ratio : ratios) {
    ratio = drawn_median(above, random, room);
    ratio /= drawn_median(below, random, room);
  }
  const auto [low, high] = quantiles(ratios, 0.5 * (1.0 - confidence), 0.5 * (1.0 + confidence));
  const double wider = widening(above, below, confidence);
  interval.low = interval.mid * std::pow(std::min(1.0, low / interval.mid), wider);
  interval.high = interval.mid * std::pow(std::max(1.0, high / interval.mid), wider);
  const auto fewest = static_cast<double>(std::min(above.all.size(), below.all.size()));
  interval.achieved_confidence = std::min(confidence, 1.0 - std::exp2(1.0 - fewest));
  return interval;
}

}  // namespace ddpprof::stats
