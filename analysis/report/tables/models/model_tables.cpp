#include "analysis/report/tables/models/model_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "analysis/fit/table/step_row.hpp"
#include "analysis/predict/prediction.hpp"
#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/models/what_if_tables.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

void sort_rows(std::vector<store::PredictionRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::tie(a.strategy, a.gpus_per_node, a.world_size) < std::tie(b.strategy, b.gpus_per_node, b.world_size);
  });
}

// "alpha 52.1 ± 1.2 µs, beta 0 s/byte (at its bound), gamma 1 (fixed), delta 2 ± 1 s (assumed)"
std::string parameters_text(const std::string& json) {
  const auto parameters = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!parameters.is_object()) return "(unreadable)";
  std::string text;
  for (const auto& [name, p] : parameters.items()) {
    if (!p.is_object() || !p.contains("value") || !p["value"].is_number()) continue;
    const std::string unit = p.contains("unit") && p["unit"].is_string() ? p["unit"].get<std::string>() : "";
    const auto is = [&p = p](const char* key, bool value) { return p.contains(key) && p[key] == value; };
    const bool uncertain = !is("at_bound", true) && !is("fixed", true);
    const double error = uncertain && p.contains("standard_error") && p["standard_error"].is_number()
                             ? p["standard_error"].get<double>()
                             : std::nan("");
    text += (text.empty() ? "" : ", ") + name + " " + units::format_measured(p["value"].get<double>(), error, unit);
    if (is("fixed", true)) {
      text += " (fixed)";
    } else if (is("at_bound", true)) {
      text += " (at its bound)";
    } else if (is("identified", false)) {
      text += " (assumed)";
    }
  }
  return text;
}

// Returns "95 %" if all rows have the same confidence, otherwise "".
std::string confidence_text(const std::vector<store::PredictionRow>& rows) {
  for (const auto& row : rows)
    if (row.confidence != rows.front().confidence) return "";
  return rows.empty() ? "" : fmt::format("{:.3g} %", 100.0 * rows.front().confidence);
}

// Returns the meanings of the values that occur in the column.
std::string bound_text(const std::vector<store::PredictionRow>& rows) {
  const std::string text = terms_text([&](std::string_view word) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.bound == word; });
  });
  return text.empty() ? text : " Bound is the term without which the step would be shortest: " + text + ".";
}

}  // namespace

Table predictions_table(std::vector<store::PredictionRow> rows) {
  sort_rows(rows);
  const std::set<std::string> strong = fit::strong_strategies(rows);
  const bool all_strong =
      !strong.empty() && std::ranges::all_of(rows, [&](const auto& row) { return strong.contains(row.strategy); });
  Table table;
  table.name = "predictions";
  table.title = "Predictions";
  const auto linked = std::ranges::find_if(rows, [](const auto& row) { return !fit::unmeasured_links(row).empty(); });
  if (linked != rows.end()) table.title += ": " + fit::unmeasured_links(*linked);
  const std::string level = confidence_text(rows);
  table.note =
      "Predicted median step with its " + (level.empty() ? std::string("interval") : level + " interval") +
      ". Shares are of the step. Communication: time with an all-reduce in flight (dp: copies); latency and "
      "bandwidth are its parts. Exposed transfer: communication that compute does not hide, without waiting for slower "
      "ranks" +
      (std::ranges::any_of(rows, [](const auto& row) { return row.skew_s > 0; })
           ? ", which is skew; the tables of measured steps call the sum of both exposed"
           : "") +
      ". At a measured N the shares are means over its steps. Corrected with measured data: predictions are multiplied "
      "by the ratio of measured and modelled times at the measured N. Beyond = N / largest measured N." +
      (std::ranges::any_of(rows, [](const auto& row) { return row.host_s > 0; })
           ? " Host: the device waits for the host's launches."
           : "") +
      bound_text(rows);
  if (std::ranges::any_of(rows,
                          [](const auto& row) { return row.note.find(fit::step_times_source) != std::string::npos; }))
    table.note +=
        " From step times alone: without sync_time_s, exposed transfer and communication also contain what other "
        "shared resources cost (input, storage, power).";
  if (std::ranges::any_of(rows, [](const auto& row) { return row.note.starts_with("measured;"); }))
    table.note +=
        " At a measured N, low and high are of its median step at the same confidence; the tables of measured steps "
        "and the answer have its 95 % interval. If repeats contradict each other, both have the same interval, with a "
        "lower confidence.";
  if (!strong.empty() && !all_strong)
    table.note += fmt::format(" Efficiency: strong for {}, which keep{} the global batch, otherwise weak.",
                              fmt::join(strong, ", "), strong.size() == 1 ? "s" : "");
  table.empty = "No prediction in this file. Predict with: ddpprof predict FILE.db --workers 8,64";
  table.columns = {text("strategy", "strategy"),
                   count("workers", "N", "workers"),
                   count("gpus_per_node", "ranks per host", "ranks"),
                   seconds("step_s", "step"),
                   seconds("step_low_s", level.empty() ? "low" : level + " low", "step_s"),
                   seconds("step_high_s", level.empty() ? "high" : level + " high", "step_s"),
                   share("confidence", "confidence"),
                   quantity("throughput_samples_per_s", "throughput", "samples/s"),
                   share("efficiency", strong.empty() ? "weak efficiency"
                                       : all_strong   ? "strong efficiency"
                                                      : "efficiency"),
                   share("compute_share", "compute + sharing"),
                   share("exposed_share", "exposed transfer"),
                   share("skew_share", "skew"),
                   share("host_share", "host"),
                   share("other_share", "other"),
                   seconds("compute_s", "compute + sharing", "step_s"),
                   seconds("communication_s", "communication", "step_s"),
                   seconds("latency_s", "latency", "step_s"),
                   seconds("bandwidth_s", "bandwidth", "step_s"),
                   seconds("exposed_s", "exposed transfer", "step_s"),
                   seconds("skew_s", "skew", "step_s"),
                   seconds("host_s", "host", "step_s"),
                   seconds("other_s", "other", "step_s"),
                   text("bound", "bound"),
                   quantity("extrapolation", "beyond", "×"),
                   prose("note", "note")};
  table.columns[2].hide_constant = table.columns[6].hide_constant = true;
  for (Column& column : table.columns) {
    // Values range from milliseconds to minutes, so each cell has its own number of decimals.
    if (column.kind == Kind::real) column.digits = column.name == "extrapolation" ? 3 : 4;
    column.hide_zero =
        column.name.starts_with("skew") || column.name.starts_with("host_s") || column.name.starts_with("other");
  }
  table.key_columns = 3;
  for (const store::PredictionRow& r : rows) {
    const auto of_step = [&](double part) { return r.step_s > 0 ? Cell(part / r.step_s) : Cell(); };
    table.rows.push_back({r.strategy,
                          r.world_size,
                          r.gpus_per_node,
                          r.step_s,
                          r.step_low_s,
                          r.step_high_s,
                          r.confidence,
                          where_positive(r.throughput),
                          r.efficiency,
                          of_step(r.compute_s),
                          of_step(r.exposed_s),
                          of_step(r.skew_s),
                          of_step(r.host_s),
                          of_step(r.other_s),
                          r.compute_s,
                          r.communication_s,
                          r.latency_s,
                          r.bandwidth_s,
                          r.exposed_s,
                          r.skew_s,
                          r.host_s,
                          r.other_s,
                          r.bound,
                          r.extrapolation > 1.0 ? Cell(r.extrapolation) : Cell(),
                          r.note});
  }
  return table;
}

Table fit_table(std::span<const store::FitRow> rows) {
  Table table;
  table.name = "fit";
  table.title = "Fitted models";
  table.note =
      "Error: the median of |fitted − measured| / measured. Predictions use only usable fits. ± is the standard error. "
      "Assumed: the measurements do not determine this parameter; its value and its ± are assumptions. Fixed: not "
      "fitted.";
  table.empty = "No fitted model in this file.";
  table.columns = {text("fit", "fit"),
                   text("strategy", "strategy"),
                   text("form", "form"),
                   Column{"usable", "usable", "", Kind::flag, "", false, false},
                   count("points", "points"),
                   share("median_relative_error", "error"),
                   prose("parameters", "parameters"),
                   prose("status", "status")};
  table.key_columns = 2;
  for (const store::FitRow& r : rows) {
    table.rows.push_back({r.name, r.strategy, r.form, r.usable, r.points, r.median_relative_error,
                          parameters_text(r.parameters), r.status});
  }
  return table;
}

Table notes_table(std::span<const store::DiagnosticRow> rows) {
  Table table;
  table.name = "notes";
  table.title = "Assumptions";
  table.empty = "Nothing to note.";
  table.columns = {text("severity", "severity"), text("code", "code"), prose("message", "what"),
                   prose("advice", "what to do")};
  table.key_columns = 1;
  for (const store::DiagnosticRow& r : rows) table.rows.push_back({r.severity, r.code, r.message, r.advice});
  return table;
}

}  // namespace ddpprof::report
