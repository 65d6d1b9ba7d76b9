// The N from which communication dominates: among the N in a file, and among all N of a prediction.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "analysis/report/tables/models/what_if_tables.hpp"

namespace ddpprof::report {
namespace {

constexpr const char* no_knee = "none up to there";  // shown instead of a knee's source

// The parts that both tables share. `looked_at`: the considered N, such as "of the N in this file". `shared_resource`:
// step times alone do not separate communication from other shared resources.
Table knee_table_without_rows(const std::string& looked_at, bool shared_resource) {
  Table table;
  table.name = "knee";
  table.title = shared_resource ? "N from which communication or another shared resource dominates"
                                : "N from which communication dominates";
  table.note =
      "The smallest " + looked_at + ", from 2 on, at which exposed communication (including waits for slower ranks" +
      (shared_resource ? "; from step times without sync_time_s also what other shared resources cost, such as "
                         "input, storage and power) exceeds this share of the step."
                       : ") exceeds this share of the step. Above 50 % the step is communication-bound.") +
      " If an N was measured, the measured value is used instead of the predicted one.";
  table.empty = "This file has no measured step and no prediction. Measure with: ddpprof run SCENARIO.yaml";
  table.columns = {text("strategy", "strategy"),
                   count("gpus_per_node", "ranks per host", "ranks"),
                   share("threshold", "exposed above"),
                   count("knee_workers", "from N", "workers"),
                   share("exposed_share", "exposed there"),
                   text("source", "source"),
                   count("largest_workers", "largest N looked at", "workers")};
  table.columns[1].hide_constant = true;
  table.key_columns = 2;
  return table;
}

// Returns the N that cannot be predicted; the smallest N may be one of them.
std::string passed_over_text(std::span<const fit::Knee> knees) {
  std::string text;
  const fit::Knee* last = nullptr;
  for (const fit::Knee& knee : knees) {
    // The rows of a strategy (one per share) have the same N.
    if (last != nullptr && last->strategy == knee.strategy && last->changed == knee.changed) continue;
    last = &knee;
    if (knee.passed_over == 0) continue;
    text += fmt::format("{}{}{}: ", text.empty() ? "" : "; ", knee.strategy, knee.changed ? " with the change" : "");
    text += knee.passed_over == 1
                ? fmt::format("N = {}", knee.first_passed_over)
                : fmt::format("{} N from {} to {}", knee.passed_over, knee.first_passed_over, knee.last_passed_over);
  }
  return text.empty() ? "" : " Some of the evaluated N cannot be predicted and are left out: " + text + ".";
}

}  // namespace

Table knee_table(std::span<const metrics::MeasuredScaling> measured, std::span<const store::PredictionRow> predicted,
                 bool shared_resource) {
  Table table = knee_table_without_rows("of the N in this file", shared_resource);
  struct Known {
    scaling::ScalingPoint point;
    const char* source;
  };
  using Curve = std::map<std::int64_t, Known>;
  std::map<std::string, Curve> curves_measured;
  for (const metrics::MeasuredScaling& m : measured) {
    if (m.point.step_s > 0 && m.point.workers > 1)
      curves_measured[m.strategy].insert({m.point.workers, {m.point, "measured"}});
  }
  std::map<std::pair<std::string, std::int64_t>, Curve> curves;
  for (const store::PredictionRow& r : predicted) {
    if (r.step_s > 0 && r.world_size > 1) {
      curves[{r.strategy, r.gpus_per_node}].insert(
          {r.world_size, {{r.world_size, r.step_s, r.exposed_s + r.skew_s}, "predicted"}});
    }
  }
  for (const auto& [strategy, curve] : curves_measured) {
    bool with_predictions = false;
    for (auto& [key, predictions] : curves) {
      if (key.first != strategy) continue;
      with_predictions = true;
      for (const auto& [workers, known_point] : curve) {
        // A prediction of the measured step has its parts: the shares of the table of predictions.
        const auto same = predictions.find(workers);
        if (same != predictions.end() &&
            std::abs(same->second.point.step_s - known_point.point.step_s) <= 0.01 * known_point.point.step_s)
          same->second.source = known_point.source;
        else
          predictions.insert_or_assign(workers, known_point);
      }
    }
    if (!with_predictions) curves[{strategy, 0}] = curve;
  }
  for (const auto& [key, curve] : curves) {
    std::vector<scaling::ScalingPoint> points;
    for (const auto& [workers, known_point] : curve) points.push_back(known_point.point);
    for (const double threshold : scaling::knee_shares) {
      const std::optional<std::int64_t> knee = scaling::knee(points, threshold);
      Row row{key.first, key.second, threshold};
      if (knee) {
        const Known& at = curve.at(*knee);
        row.insert(row.end(), {*knee, at.point.exposed_s / at.point.step_s, std::string(at.source)});
      } else {
        row.insert(row.end(), {Cell(), Cell(), std::string(no_knee)});
      }
      row.emplace_back(curve.rbegin()->first);
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Table knee_table(std::span<const fit::Knee> knees, const fit::WhatIf& change) {
  Table table = knee_table_without_rows("N", std::ranges::any_of(knees, &fit::Knee::shared_resource));
  table.note +=
      " Every N up to 64 and every measured N is evaluated. Above 64, N grows by at most 1/32 per step, and a "
      "bisection between two steps finds the knee.";
  if (!change.strategy.empty())
    table.note += " With strategy=" + change.strategy + " the search ends at the largest requested or measured N.";
  table.note += passed_over_text(knees);
  constexpr std::ptrdiff_t after_key = 2;
  if (change.any()) {
    table.columns.insert(table.columns.begin() + after_key, text("what_if", "what if", true));
    ++table.key_columns;
  }
  const std::string said = fmt::format("{}", fmt::join(change.said, " "));
  for (const fit::Knee& knee : knees) {
    Row row{knee.strategy, knee.gpus_per_node};
    if (change.any()) row.push_back(knee.changed ? Cell(said) : Cell());
    row.emplace_back(knee.share);
    if (knee.workers)
      row.insert(row.end(), {*knee.workers, knee.exposed_share, std::string(knee.measured ? "measured" : "predicted")});
    else
      row.insert(row.end(), {Cell(), Cell(), std::string(no_knee)});
    row.emplace_back(knee.furthest);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace ddpprof::report
