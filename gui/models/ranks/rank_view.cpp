#include "gui/models/ranks/rank_view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "simulator/stats/summary.hpp"

namespace ddpprof::gui {
namespace {

constexpr std::size_t many_cells = 100;

double value_of(const metrics::RankStep& step, StripQuantity quantity) {
  switch (quantity) {
    case StripQuantity::step:
      return step.step_s;
    case StripQuantity::compute:
    case StripQuantity::against_others:
      return step.compute_s;
    case StripQuantity::exposed:
      return step.exposed_s;
    case StripQuantity::waiting:
      return step.skew_s;
    case StripQuantity::host:
      return step.host_s;
    case StripQuantity::input:
      return step.input_s;
    case StripQuantity::other:
      return step.parts()[static_cast<std::size_t>(metrics::RankPart::other)];
  }
  return 0.0;
}

template <class Value>
std::size_t index_in(const std::vector<Value>& sorted, const Value& value) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
}

// Replaces each value by its ratio to the column's median over the ranks, minus 1.
void relate_to_others(RankStrip& strip) {
  for (std::size_t step = 0; step < strip.steps.size(); ++step) {
    std::vector<double> column;
    for (std::size_t rank = 0; rank < strip.ranks.size(); ++rank)
      if (!std::isnan(strip.at(rank, step))) column.push_back(strip.at(rank, step));
    const double middle = column.empty() ? 0.0 : stats::median(column);
    for (std::size_t rank = 0; rank < strip.ranks.size(); ++rank) {
      double& value = strip.values[rank * strip.steps.size() + step];
      value = middle > 0.0 ? value / middle - 1.0 : std::nan("");
    }
  }
}

void span_colours(RankStrip& strip) {
  std::vector<double> known;
  for (const double value : strip.values)
    if (!std::isnan(value)) known.push_back(value);
  if (known.empty()) return;
  if (known.size() >= many_cells)
    std::tie(strip.low, strip.high) = stats::quantiles(known, 0.01, 0.99);
  else
    std::tie(strip.low, strip.high) =
        std::pair(*std::min_element(known.begin(), known.end()), *std::max_element(known.begin(), known.end()));
}

}  // namespace

RankBars rank_bars(const metrics::RankTimes& times) {
  RankBars bars;
  bars.waits_known = times.waits_known;
  for (const auto& [rank, steps] : metrics::measured_by_rank(times)) {
    bars.ranks.push_back(rank);
    std::vector<double> whole;
    std::array<std::vector<double>, metrics::rank_part_count> parts;
    for (const metrics::RankStep* step : steps) {
      whole.push_back(step->step_s);
      const auto of_step = step->parts();
      for (std::size_t i = 0; i < of_step.size(); ++i) parts[i].push_back(of_step[i]);
    }
    bars.step_s.push_back(stats::median(whole));
    for (std::size_t i = 0; i < parts.size(); ++i) bars.parts_s[i].push_back(stats::mean(parts[i]));
  }
  return bars;
}

const char* to_string(StripQuantity quantity) {
  switch (quantity) {
    case StripQuantity::step:
      return "step";
    case StripQuantity::compute:
      return "compute";
    case StripQuantity::against_others:
      return "compute against the median rank";
    case StripQuantity::exposed:
      return "exposed communication";
    case StripQuantity::waiting:
      return "waiting for slower ranks";
    case StripQuantity::host:
      return "waiting for launches";
    case StripQuantity::input:
      return "input";
    case StripQuantity::other:
      return "other";
  }
  return "?";
}

RankStrip rank_strip(const metrics::RankTimes& times, StripQuantity quantity, bool unmeasured_too) {
  RankStrip strip;
  strip.quantity = quantity;
  const auto shown = [&](const metrics::RankStep& step) { return unmeasured_too || step.kind == "measured"; };
  std::set<std::int64_t> ranks, steps;
  for (const metrics::RankStep& step : times.steps) {
    if (!shown(step)) continue;
    ranks.insert(step.rank);
    steps.insert(steps.end(), step.step);  // steps are in ascending order, so insert at the end
  }
  strip.ranks.assign(ranks.begin(), ranks.end());
  strip.steps.assign(steps.begin(), steps.end());
  strip.kinds.resize(strip.steps.size());
  strip.begin_ns.assign(strip.steps.size(), std::numeric_limits<std::int64_t>::max());
  strip.end_ns.assign(strip.steps.size(), std::numeric_limits<std::int64_t>::min());
  strip.values.assign(strip.ranks.size() * strip.steps.size(), std::nan(""));
  for (const metrics::RankStep& step : times.steps) {
    if (!shown(step)) continue;
    const std::size_t rank = index_in(strip.ranks, step.rank), column = index_in(strip.steps, step.step);
    strip.values[rank * strip.steps.size() + column] = value_of(step, quantity);
    strip.kinds[column] = step.kind;
    if (!step.aligned) continue;  // the rank's clock is not aligned with rank 0
    strip.begin_ns[column] = std::min(strip.begin_ns[column], step.begin_ns);
    strip.end_ns[column] = std::max(strip.end_ns[column], step.end_ns);
  }
  if (strip.is_share()) relate_to_others(strip);
  span_colours(strip);
  strip.scale = strip.is_share() ? units::Scale{0.01, "%", 1} : units::choose_scale("s", strip.values);
  return strip;
}

StepHistogram step_histogram(const metrics::RankTimes& times) {
  constexpr std::size_t most_bins = 60;
  std::vector<double> step_s;
  for (const metrics::RankStep& step : times.steps)
    if (step.kind == "measured") step_s.push_back(step.step_s);
  StepHistogram made;
  if (step_s.empty()) return made;
  made.median_s = stats::median(step_s);
  made.p95_s = stats::quantile(step_s, 0.95);
  made.scale = units::choose_scale("s", step_s);
  const auto [fastest, slowest] = std::ranges::minmax(step_s);
  const auto [p1, p99] = stats::quantiles(step_s, 0.01, 0.99);
  const double beyond = p99 - p1;
  const double low = std::max(fastest, p1 - beyond), high = std::min(slowest, p99 + beyond);
  const auto [p25, p75] = stats::quantiles(step_s, 0.25, 0.75);
  const double rule = 2.0 * (p75 - p25) / std::cbrt(static_cast<double>(step_s.size()));
  std::size_t bins = 1;
  if (high > low)
    bins = rule > 0.0 ? std::clamp(static_cast<std::size_t>(std::ceil((high - low) / rule)), std::size_t{1}, most_bins)
                      : most_bins;
  made.low_s = low;
  // Equal steps have one bin of 1 % of the step.
  made.width_s = high > low ? (high - low) / static_cast<double>(bins) : std::max(0.01 * low, 1e-9);
  if (!(high > low)) made.low_s = low - 0.5 * made.width_s;
  made.counts.assign(bins, 0);
  for (const double one : step_s) {
    const double at = std::floor((one - made.low_s) / made.width_s);
    ++made.counts[static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(bins - 1)))];
  }
  return made;
}

metrics::RankTimes steps_of(const metrics::RankTimes& times, std::int64_t rank) {
  metrics::RankTimes one;
  one.measurement = times.measurement;
  one.workers = times.workers;
  one.repeat = times.repeat;
  one.repeats = times.repeats;
  one.strategy = times.strategy;
  one.communication_known = times.communication_known;
  one.waits_known = times.waits_known;
  if (const auto host = times.hosts.find(rank); host != times.hosts.end()) one.hosts.insert(*host);
  for (const metrics::RankStep& step : times.steps)
    if (step.rank == rank) one.steps.push_back(step);
  return one;
}

std::string cell_text(const RankStrip& strip, std::size_t rank, std::size_t step) {
  const double value = strip.at(rank, step);
  std::string text = "rank " + std::to_string(strip.ranks[rank]) + ", step " + std::to_string(strip.steps[step]) +
                     " (" + strip.kinds[step] + "): " + to_string(strip.quantity) + " ";
  if (std::isnan(value)) return text + "not recorded";
  if (strip.is_share()) return text + (value >= 0.0 ? "+" : "−") + units::format_quantity(std::abs(100.0 * value), "%");
  return text + units::format_quantity(value, "s");
}

}  // namespace ddpprof::gui
