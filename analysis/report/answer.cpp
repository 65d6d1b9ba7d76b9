// The first lines of a report: per strategy, in words, the measured scaling, predictions for more workers and the
// binding term.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/metrics/scaling.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/prediction.hpp"
#include "analysis/report/answer.hpp"
#include "analysis/report/tables/learning_rate/stored_rates.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "analysis/report/tables/models/stored_models.hpp"
#include "simulator/scaling/efficiency.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

constexpr double wide_interval = 10.0;  // high / low above which a prediction is too imprecise

std::string time_text(double seconds) { return units::format_quantity(seconds, "s"); }

// Returns the share of the step in which the device waits for the host's launches, if this is the largest term;
// otherwise 0.
double host_bound_share(const metrics::Configuration& c, double step_s) {
  if (!c.host_known()) return 0.0;
  const auto median = [&](double metrics::RunStep::*field) { return metrics::median_of(c.measured, field).mid; };
  const double host_s = median(&metrics::RunStep::host_s), compute_s = median(&metrics::RunStep::compute_s),
               exposed_s = median(&metrics::RunStep::exposed_s);
  const double other_s = step_s - host_s - compute_s - exposed_s;
  return host_s > std::max({compute_s, exposed_s, other_s}) ? host_s / step_s : 0.0;
}

std::string measured_sentence(const Source& source, const std::string& strategy) {
  const metrics::Configuration* largest = nullptr;
  for (const metrics::Configuration* c : scaling_configurations(source.configurations))
    if (c->strategy == strategy && (!largest || c->world_size > largest->world_size)) largest = c;
  if (!largest) return "";
  const double step_s = metrics::median_of(largest->timed(), &metrics::RunStep::duration_s).mid;
  const double traced_s = metrics::median_of(largest->measured, &metrics::RunStep::duration_s).mid;
  const double exposed_s = metrics::median_of(largest->measured, &metrics::RunStep::exposed_s).mid;
  const std::string exposed = largest->communication_known
                                  ? fmt::format("{} of it exposed communication", units::percent(std::min(1.0, exposed_s / step_s), 3))
                                  : "its communication is unknown (see the diagnostics)";
  const double host_share = host_bound_share(*largest, traced_s);
  const std::string host = host_share > 0.0
                               ? fmt::format(
                                     " Host-bound: the device waits for the host's launches for {} of the step{}. Usual "
                                     "remedies: {}.",
                                     units::percent(host_share, 3),
                                     largest->untraced.empty() ? "" : " with the profiler", fit::host_remedies)
                               : "";
  const metrics::Configuration* one = baseline(source.configurations, *largest);
  if (largest->world_size == 1 || !one) {
    return fmt::format("Measured: a step of N = {} takes {}, {}.{}", largest->world_size, time_text(step_s), exposed,
                       host);
  }
  const double speedup = scaling::speedup(throughput(*largest), throughput(*one));
  return fmt::format("Measured: N = {} trains {} × as fast as N = 1 (weak efficiency {}); a step takes {}, {}.{}",
                     largest->world_size, units::format_significant(speedup, 3),
                     units::percent(speedup / static_cast<double>(largest->world_size), 3), time_text(step_s), exposed,
                     host);
}

// Returns the prediction for the largest N beyond the measured ones whose interval is not too wide, otherwise for the
// largest N.
const store::PredictionRow* prediction_to_name(const std::vector<store::PredictionRow>& rows) {
  const store::PredictionRow* found = nullptr;
  const auto wide = [](const store::PredictionRow& r) { return r.step_high_s > wide_interval * r.step_low_s; };
  for (const store::PredictionRow& row : rows)
    if (row.step_s > 0 && row.extrapolation > 1.0 && (!found || wide(*found) || !wide(row))) found = &row;
  return found;
}

// Returns what the predictions assume about links between nodes that were not measured; empty if they need none.
std::string links_sentence(const std::vector<store::PredictionRow>& rows) {
  const auto found = std::ranges::find_if(rows, [](const auto& row) { return !fit::unmeasured_links(row).empty(); });
  if (found == rows.end()) return "";
  std::string text = fit::unmeasured_links(*found) + ".";
  text.front() = 'L';
  return text;
}

std::string predicted_sentence(const std::vector<store::PredictionRow>& rows) {
  const store::PredictionRow* row = prediction_to_name(rows);
  if (!row) return "";
  const std::string interval = fmt::format("{:.3g} %: {} to {}", 100.0 * row->confidence, time_text(row->step_low_s),
                                           time_text(row->step_high_s));
  const bool wide = row->step_high_s > wide_interval * row->step_low_s;
  if (wide && !fit::unmeasured_links(*row).empty())
    return fmt::format("Predicted: N = {} takes {} per step ({}). Name the link between nodes to narrow it.",
                       row->world_size, time_text(row->step_s), interval);
  if (wide)
    return fmt::format(
        "Predicted: N = {} is too far beyond the measured N for a useful prediction ({}). Measure more workers.",
        row->world_size, interval);
  std::string text =
      fmt::format("Predicted: N = {} takes {} per step ({})", row->world_size, time_text(row->step_s), interval);
  if (row->efficiency > 0) text += fmt::format(", weak efficiency {}", units::percent(row->efficiency, 3));
  text += fmt::format("; the binding term is {}.", row->bound);
  if (row->bound == fit::to_string(fit::Term::host))
    text += fmt::format(" Host-bound: the device waits for the host's launches for {} of this step.",
                        units::percent(row->host_s / row->step_s, 3));
  if (row != &rows.back()) text += fmt::format(" For larger N the interval is wider than {:.0f} ×.", wide_interval);
  return text;
}

std::string scaling_sentence(const std::map<std::int64_t, scaling::ScalingPoint>& curve,
                             std::int64_t largest_measured) {
  if (curve.size() < 2) return "";
  const auto rate = [](const scaling::ScalingPoint& p) { return static_cast<double>(p.workers) / p.step_s; };
  const auto best = std::max_element(curve.begin(), curve.end(),
                                     [&](const auto& a, const auto& b) { return rate(a.second) < rate(b.second); });
  const char* source = best->first > largest_measured ? ", predicted," : "";
  std::string text = best->first == curve.begin()->first
                         ? fmt::format("Adding workers does not increase throughput: N = {} is fastest.", best->first)
                         : fmt::format("Throughput{} is highest at N = {}{}.", source, best->first,
                                       best->first == curve.rbegin()->first ? ", the largest N in this report"
                                                                            : " among the N in this report");
  std::vector<scaling::ScalingPoint> several;
  for (const auto& [workers, point] : curve)
    if (workers > 1) several.push_back(point);
  if (const auto knee = scaling::knee(several, scaling::communication_bound_share))
    text += fmt::format(" From N = {} on the job is communication-bound.", *knee);
  return text;
}

// Returns the sentence about the largest N with a rate.
std::string rate_sentence(const Table& rates) {
  const auto cell = [&rates](const Row& row, std::string_view name) -> const Cell& {
    return cell_of(rates, row, name);
  };
  const Row* largest = nullptr;
  for (const Row& row : rates.rows)
    if (std::holds_alternative<double>(cell(row, "target_lr")) &&
        (!largest || cell(row, "workers") > cell(*largest, "workers")))
      largest = &row;
  if (!largest || cell(*largest, "workers") <= Cell(std::int64_t{1})) return "";
  const auto workers = std::get<std::int64_t>(cell(*largest, "workers")),
             warmup_steps = std::get<std::int64_t>(cell(*largest, "warmup_steps"));
  const auto& rule = std::get<std::string>(cell(*largest, "rule"));
  return fmt::format("{:.4g} at N = {} ({}){}.", std::get<double>(cell(*largest, "target_lr")), workers,
                     rule == "none" ? "not scaled" : rule + " rule",
                     warmup_steps > 0 ? fmt::format(", reached from {:.4g} over {} warm-up steps",
                                                    std::get<double>(cell(*largest, "base_lr")), warmup_steps)
                                      : "");
}

}  // namespace

Table answer_table(const Source& source) {
  Table table;
  table.name = "answer";
  table.title = "Answer";
  table.empty = "This file has no measured step and no prediction. Measure with: ddpprof run SCENARIO.yaml";
  table.columns = {text("about", "about"), prose("answer", "answer")};
  table.key_columns = 1;
  // Only the first grouping by host of each strategy; the table of predictions has all.
  std::map<std::string, std::vector<store::PredictionRow>> predictions;
  for (store::PredictionRow& row : read_predictions(source)) {
    auto& rows = predictions[row.strategy];
    if (rows.empty() || rows.front().gpus_per_node == row.gpus_per_node) rows.push_back(std::move(row));
  }
  std::map<std::string, std::map<std::int64_t, scaling::ScalingPoint>> curves;
  std::map<std::string, std::int64_t> largest_measured;
  for (const metrics::MeasuredScaling& m : metrics::measured_scaling(source.configurations))
    if (m.point.step_s > 0 && of_measured_machine(m, predictions[m.strategy]))
      curves[m.strategy].insert({m.point.workers, m.point});
  for (const auto& [strategy, curve] : curves) largest_measured[strategy] = curve.rbegin()->first;
  for (const auto& [strategy, rows] : predictions)
    for (const store::PredictionRow& row : rows)
      if (row.step_s > 0 && row.step_high_s <= wide_interval * row.step_low_s)
        curves[strategy].insert({row.world_size, {row.world_size, row.step_s, row.exposed_s + row.skew_s}});
  for (const auto& [strategy, curve] : curves) {
    std::string answer;
    for (const std::string& sentence :
         {links_sentence(predictions[strategy]), measured_sentence(source, strategy),
          scaling_sentence(curve, largest_measured[strategy]), predicted_sentence(predictions[strategy])})
      if (!sentence.empty()) answer += (answer.empty() ? "" : " ") + sentence;
    table.rows.push_back({strategy, answer});
  }
  if (const std::string rate = rate_sentence(learning_rate_table(source)); !rate.empty())
    table.rows.push_back({std::string("learning rate"), rate});
  return table;
}

}  // namespace ddpprof::report
