// Work that most steps lack, such as an optimizer after every fourth micro-batch, evaluations, checkpoints. Its median
// is 0.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "analysis/report/tables/compare/compare_parts.hpp"
#include "simulator/stats/normal.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/ratio.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::report {
namespace {

// Returns the period in steps if it is constant over a repeat with three or more periods.
std::optional<std::size_t> period_of(const std::vector<double>& steps) {
  constexpr std::size_t fewest = 3;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i] > 0.0) places.push_back(i);
  if (places.size() < fewest) return std::nullopt;
  const std::size_t period = places[1] - places[0];
  for (std::size_t i = 2; i < places.size(); ++i)
    if (places[i] - places[i - 1] != period) return std::nullopt;
  if (places.front() >= period || steps.size() - places.back() > period) return std::nullopt;
  return period;
}

struct Cycles {
  std::size_t period = 1;
  Samples means;  // of each complete period
};

// Returns nothing if a repeat has no period or a different period.
std::optional<Cycles> cycles_of(const Samples& repeats) {
  Cycles cycles;
  for (const std::vector<double>& steps : repeats) {
    const std::optional<std::size_t> period = period_of(steps);
    if (!period || (!cycles.means.empty() && *period != cycles.period)) return std::nullopt;
    cycles.period = *period;
    std::vector<double>& means = cycles.means.emplace_back();
    for (std::size_t from = 0; from + *period <= steps.size(); from += *period)
      means.push_back(stats::mean(std::span(steps).subspan(from, *period)));
  }
  return cycles;
}

// Bootstrap means of one file: repeats are drawn first, then steps within each repeat.
class Side {
 public:
  explicit Side(const Samples& repeats) : repeats_(repeats) {
    std::erase_if(repeats_, [](const std::vector<double>& steps) { return steps.empty(); });
    const std::vector<double> all = joined(repeats_);
    mean_ = stats::mean(all);
    samples_ = all.size();
  }
  double mean() const { return mean_; }
  std::size_t samples() const { return samples_; }
  std::size_t repeats() const { return repeats_.size(); }
  double drawn_deviation(stats::Random& random) const {
    double sum = 0.0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < repeats_.size(); ++i) {
      const std::vector<double>& steps = repeats_[repeats_.size() == 1 ? 0 : random.below(repeats_.size())];
      for (std::size_t j = 0; j < steps.size(); ++j) sum += steps[random.below(steps.size())];
      count += steps.size();
    }
    return sum / static_cast<double>(count) - mean_;
  }

 private:
  Samples repeats_;
  double mean_ = 0;
  std::size_t samples_ = 0;
};

}  // namespace

double mean_of(const Samples& repeats) {
  const std::vector<double> all = joined(repeats);
  return all.empty() ? 0.0 : stats::mean(all);
}

bool lacking_in_most(const Samples& repeats) {
  const std::vector<double> all = joined(repeats);
  return !all.empty() && stats::median(all) == 0.0 && stats::mean(all) > 0.0;
}

stats::Interval drawn_interval(double mid, std::vector<double> of_b, std::vector<double> of_a, std::size_t repeats_b,
                               std::size_t repeats_a, std::size_t fewest_samples) {
  // Drawing n repeats underestimates their variance by the factor (n - 1) / n.
  const auto widen = [](std::vector<double>& deviations, std::size_t repeats) {
    const auto n = static_cast<double>(repeats);
    if (repeats > 1)
      for (double& one : deviations) one *= std::sqrt(n / (n - 1.0));
    return std::pow(stats::standard_deviation(deviations), 2);
  };
  const double variance_b = widen(of_b, repeats_b), variance_a = widen(of_a, repeats_a);
  std::vector<double> both(of_b.size());
  for (std::size_t i = 0; i < both.size(); ++i) both[i] = of_b[i] - of_a[i];
  const double probability = 0.5 * (1.0 + metrics::confidence);
  const auto [low, high] = stats::quantiles(both, 1.0 - probability, probability);
  // Student's quantile / normal quantile at the degrees of freedom of Welch and Satterthwaite.
  double parts = 0.0, wider = 1.0;
  if (repeats_b > 1) parts += variance_b * variance_b / static_cast<double>(repeats_b - 1);
  if (repeats_a > 1) parts += variance_a * variance_a / static_cast<double>(repeats_a - 1);
  if (parts > 0.0) {
    const double degrees = std::max(1.0, std::pow(variance_b + variance_a, 2) / parts);
    wider = stats::student_quantile(probability, degrees) / stats::normal_quantile(probability);
  }
  return {mid + wider * std::min(0.0, low), mid, mid + wider * std::max(0.0, high),
          std::min(metrics::confidence, 1.0 - std::exp2(1.0 - static_cast<double>(fewest_samples)))};
}

stats::Interval mean_difference_interval(const Samples& in_b, const Samples& in_a) {
  const Side b(in_b), a(in_a);
  stats::Random random(1);
  std::vector<double> of_b(resamples), of_a(resamples);
  for (std::size_t i = 0; i < resamples; ++i) {
    of_b[i] = b.drawn_deviation(random);
    of_a[i] = a.drawn_deviation(random);
  }
  return drawn_interval(b.mean() - a.mean(), std::move(of_b), std::move(of_a), b.repeats(), a.repeats(),
                        std::min(b.samples(), a.samples()));
}

std::optional<Difference> judged_by_cycle(const Pair& pair, const std::string& what, const Samples& in_a,
                                          const Samples& in_b) {
  const std::optional<Cycles> a = cycles_of(in_a), b = cycles_of(in_b);
  if (!a || !b) return std::nullopt;
  std::optional<Difference> d = judged_work(pair, what, a->means, b->means);
  if (!d) return d;
  const std::string each = a->period == b->period
                               ? fmt::format("means, every {} steps together", a->period)
                               : fmt::format("means, every {} steps of A and {} of B together", a->period, b->period);
  d->why = "its time is 0 in most steps: " + each + (d->why.empty() ? "" : "; " + d->why);
  return d;
}

}  // namespace ddpprof::report
