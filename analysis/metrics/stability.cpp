#include "analysis/metrics/stability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "simulator/stats/autocorrelation.hpp"
#include "simulator/stats/rank_sum.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/stats/trend.hpp"
#include "simulator/stats/warmup.hpp"

namespace ddpprof::metrics {
namespace {

constexpr double drift_p = 0.01, drift_share = 0.02, drift_share_to_warn = 0.05;
constexpr double unsettled_p = 0.001, unsettled_excess_to_warn = 0.05, outlier_share_to_warn = 0.05;
constexpr double dependent = 1.0 / 3.0;  // effective steps / steps below which neighbours count as correlated
constexpr std::int64_t few_steps = 20;

Stability stability_of(std::span<const RunStep> steps) {
  std::vector<double> times;
  for (const RunStep& step : steps) times.push_back(step.duration_s);
  Stability found;
  found.measurement = steps.front().measurement;
  found.repeat = steps.front().repeat;
  found.steps = static_cast<std::int64_t>(times.size());
  found.median_s = stats::median(times);
  found.spread = found.median_s > 0 ? stats::mad_sigma(times) / found.median_s : 0.0;
  found.effective_steps = stats::median_effective_size(times);
  const stats::Drift drift = stats::drift(times);
  found.change = found.median_s > 0 ? drift.change / found.median_s : 0.0;
  found.p_value = drift.p_value;
  found.block = static_cast<std::int64_t>(drift.block);
  const stats::Outliers outliers = stats::find_outliers(times);
  found.outliers = static_cast<std::int64_t>(outliers.indices.size());
  found.place = outliers.place;
  found.period = static_cast<std::int64_t>(outliers.period);
  const stats::WarmupEnd end = stats::warmup_end(times);
  if (end.settled && end.steps > 0) {
    const std::span<const double> all(times);
    const double rest = stats::median(all.subspan(end.steps));
    found.unsettled = static_cast<std::int64_t>(end.steps);
    found.unsettled_excess = rest > 0 ? stats::median(all.first(end.steps)) / rest - 1.0 : 0.0;
    found.unsettled_p_value = stats::rank_sum(all.first(end.steps), all.subspan(end.steps));
  }
  return found;
}

std::string in_repeats(std::size_t count, const Configuration& c) {
  return c.measurements.size() > 1 ? fmt::format(", in {} of {} repeats", count, c.measurements.size()) : "";
}

// Returns the measurement with the largest `value` among those for which `holds` is true, and their number.
template <class Holds, class Value>
std::pair<const Stability*, std::size_t> worst(const std::vector<Stability>& all, Holds&& holds, Value&& value) {
  const Stability* found = nullptr;
  std::size_t count = 0;
  for (const Stability& one : all) {
    if (!holds(one)) continue;
    ++count;
    if (found == nullptr || value(one) > value(*found)) found = &one;
  }
  return {found, count};
}

// A warm-up is short compared with the measurement; anything longer is a change of level.
bool is_warmup(const Stability& s) { return 5 * s.unsettled <= s.steps; }

// MSER-5 also cuts slow-looking noise, therefore p must be small.
bool warms(const Stability& s) {
  return s.unsettled > 0 && s.unsettled_excess > unsettled_excess_to_warn && s.unsettled_p_value < unsettled_p;
}

double outlier_share(const Stability& s) { return static_cast<double>(s.outliers) / static_cast<double>(s.steps); }

}  // namespace

std::vector<Stability> stabilities(const Configuration& c) {
  std::vector<Stability> all;
  for (const std::int64_t id : c.measurements) {
    std::vector<RunStep> steps;
    for (const RunStep& step : c.timed()) {
      if (step.measurement == id) steps.push_back(step);
    }
    if (steps.size() >= minimum_stability_steps) all.push_back(stability_of(steps));
  }
  return all;
}

bool drifts(const Stability& s) { return s.p_value && *s.p_value < drift_p && std::abs(s.change) > drift_share; }

std::string place_text(const Stability& s) {
  if (s.place == stats::Place::periodic) return fmt::format("every {} steps", s.period);
  return stats::to_string(s.place);
}

std::string verdict(const Stability& s) {
  if (s.unsettled > 0 && s.unsettled_excess > unsettled_excess_to_warn)
    return is_warmup(s) ? "warming up" : "level changed";
  if (drifts(s)) return "drifts";
  return s.p_value ? "steady" : "too few to tell";
}

std::vector<Disturbance> unsteadiness(const Configuration& c) {
  const std::vector<Stability> all = stabilities(c);
  std::vector<Disturbance> found;
  const auto [warm, warm_count] = worst(all, warms, [](const Stability& s) { return s.unsettled_excess; });
  if (warm != nullptr) {
    const std::string message =
        fmt::format("The first {} of {} measured steps took {:.0f} % longer than the rest{}.", warm->unsettled,
                    warm->steps, 100.0 * warm->unsettled_excess, in_repeats(warm_count, c));
    const auto count = static_cast<std::int64_t>(warm_count);
    if (is_warmup(*warm)) {
      found.push_back({"warmup_too_short", message, "Increase measure.warmup_steps, or set it to auto.", count});
    } else {
      found.push_back({"level_changed", message,
                       "This is too long for a warm-up. Check for other load or a frequency change during the "
                       "measurement (report conditions), and measure repeats (measure.repeats).",
                       count});
    }
  }
  // Slow leading steps look like a drift, so repeats that have them are not tested for drift.
  const auto [moving, moving_count] = worst(
      all, [](const Stability& s) { return !warms(s) && drifts(s) && std::abs(s.change) > drift_share_to_warn; },
      [](const Stability& s) { return std::abs(s.change); });
  if (moving != nullptr) {
    found.push_back({"drift",
                     fmt::format("Steps got {:.1f} % {} from the first to the last measured one (p = {:.1g}){}.",
                                 100.0 * std::abs(moving->change), moving->change > 0 ? "longer" : "shorter",
                                 *moving->p_value, in_repeats(moving_count, c)),
                     moving->change > 0 ? "Check for heat, other load or growing memory use (report conditions). "
                                          "Measure repeats (measure.repeats), which are interleaved over N."
                                        : "Use a longer warm-up: set measure.warmup_steps to auto.",
                     static_cast<std::int64_t>(moving_count)});
  }
  const auto [wild, wild_count] = worst(
      all, [](const Stability& s) { return s.outliers > 1 && outlier_share(s) > outlier_share_to_warn; },
      outlier_share);
  if (wild != nullptr) {
    found.push_back({"outlier_steps",
                     fmt::format("{:.0f} % of the steps are far above the median, {}{}.", 100.0 * outlier_share(*wild),
                                 place_text(*wild), in_repeats(wild_count, c)),
                     "The median ignores them; the total time of a training does not. Periodic outliers come from "
                     "periodic work, consecutive outliers from other load.",
                     static_cast<std::int64_t>(wild_count)});
  }
  return found;
}

std::vector<Cause> causes_of_noise(const Configuration& c, const Conditions& conditions) {
  std::vector<Cause> causes;
  for (const Disturbance& d : disturbances(c, conditions)) causes.push_back({d.message, d.advice});
  const std::vector<Stability> all = stabilities(c);
  const stats::Interval interval = median_of(c.timed(), &RunStep::duration_s);
  if (c.measurements.size() > 1 && interval.achieved_confidence < confidence && all.size() > 1) {
    const auto [low, high] = std::minmax_element(
        all.begin(), all.end(), [](const Stability& a, const Stability& b) { return a.median_s < b.median_s; });
    causes.push_back({fmt::format("The repeats differ: their medians spread over {:.0f} %.",
                                  100.0 * (high->median_s / low->median_s - 1.0)),
                      "Measure more repeats (measure.repeats), or use a machine with less other load."});
  }
  for (const Disturbance& d : unsteadiness(c)) {
    if (d.code != "outlier_steps") causes.push_back({d.message, d.advice});
  }
  double steps = 0, effective = 0, spread = 0;
  for (const Stability& s : all) {
    steps += static_cast<double>(s.steps);
    effective += s.effective_steps;
    spread = std::max(spread, s.spread);
  }
  if (steps > 0 && effective < dependent * steps)
    causes.push_back(
        {fmt::format("Neighbouring steps are correlated: the median of {:.0f} steps is only as precise as that of "
                     "{:.0f} independent steps.",
                     steps, effective),
         "Measure more steps (measure.steps) or more repeats (measure.repeats)."});
  const auto measured = static_cast<std::int64_t>(c.timed().size());
  if (measured < few_steps)
    causes.push_back(
        {"Too few steps.", "Measure more steps (measure.steps), or set a target interval (measure.until_ci_percent)."});
  if (causes.empty())
    causes.push_back({fmt::format("The step times vary by ± {:.0f} %.", 100.0 * spread),
                      "Measure more steps or repeats (measure.steps, measure.repeats)."});
  return causes;
}

}  // namespace ddpprof::metrics
