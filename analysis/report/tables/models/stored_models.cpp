// Tables about the models stored in the database.
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/metrics/scaling.hpp"
#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/models/model_tables.hpp"
#include "analysis/report/tables/models/stored_models.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::report {
namespace {

using nlohmann::ordered_json;

std::vector<store::FitRow> read_fits(const Source& source) {
  std::vector<store::FitRow> rows;
  SQLite::Statement q(source.db,
                      "SELECT id, name, strategy, form, usable, status, points, median_relative_error, parameters, "
                      "covariance, residuals FROM fit ORDER BY strategy, name, id");
  while (q.executeStep()) {
    rows.push_back({q.getColumn(0).getInt64(), q.getColumn(1).getString(), q.getColumn(2).getString(),
                    q.getColumn(3).getString(), q.getColumn(4).getInt64(), q.getColumn(5).getString(),
                    q.getColumn(6).getInt64(), q.getColumn(7).getDouble(), q.getColumn(8).getString(),
                    q.getColumn(9).getString(), q.getColumn(10).getString()});
  }
  return rows;
}

}  // namespace

std::vector<store::PredictionRow> read_predictions(const Source& source) {
  std::vector<store::PredictionRow> rows;
  SQLite::Statement q(
      source.db,
      "SELECT strategy, world_size, gpus_per_node, step_s, step_low_s, step_high_s, confidence, compute_s, "
      "communication_s, exposed_s, latency_s, bandwidth_s, skew_s, other_s, throughput, efficiency, bound, "
      "extrapolation, note, COALESCE(host_s, 0) FROM prediction ORDER BY strategy, gpus_per_node, world_size");
  while (q.executeStep()) {
    store::PredictionRow row;
    row.strategy = q.getColumn(0).getString();
    row.world_size = q.getColumn(1).getInt64();
    row.gpus_per_node = q.getColumn(2).getInt64();
    int i = 3;
    for (double* value : {&row.step_s, &row.step_low_s, &row.step_high_s, &row.confidence, &row.compute_s,
                          &row.communication_s, &row.exposed_s, &row.latency_s, &row.bandwidth_s, &row.skew_s,
                          &row.other_s, &row.throughput, &row.efficiency}) {
      *value = q.getColumn(i++).getDouble();
    }
    row.bound = q.getColumn(i++).getString();
    row.extrapolation = q.getColumn(i++).getDouble();
    row.note = q.getColumn(i++).getString();
    row.host_s = q.getColumn(i).getDouble();
    rows.push_back(std::move(row));
  }
  return rows;
}

namespace {

double number(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : std::nan("");
}

Cell cell(double value) { return std::isnan(value) ? Cell() : Cell(value); }

Cell integer_cell(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? Cell(found->get<std::int64_t>()) : Cell();
}

}  // namespace

Table fit_table(const Source& source) { return fit_table(read_fits(source)); }

Table fit_parameters_table(std::span<const store::FitRow> rows) {
  Table table;
  table.name = "fit_parameters";
  table.title = "Parameters of the fits";
  table.note =
      "Standard errors are from the covariance of the fit; they are meaningless for a parameter at its bound. Fixed: "
      "not fitted. Assumed: the measurements do not determine this parameter; its value and error are assumptions.";
  table.empty = "No fitted model in this file.";
  table.columns = {text("fit", "fit"),
                   text("strategy", "strategy"),
                   text("parameter", "parameter"),
                   quantity("value", "value", ""),
                   quantity("standard_error", "standard error", ""),
                   text("unit", "unit"),
                   Column{"at_bound", "at a bound", "", Kind::flag, "", false, false},
                   Column{"fixed", "fixed", "", Kind::flag, "", false, false},
                   Column{"assumed", "assumed", "", Kind::flag, "", false, false}};
  table.key_columns = 3;
  for (const store::FitRow& fit : rows) {
    const auto parameters = ordered_json::parse(fit.parameters, nullptr, false);
    if (!parameters.is_object()) {
      table.rows.push_back({fit.name, fit.strategy, "(unreadable)", Cell(), Cell(), Cell(), Cell(), Cell(), Cell()});
      continue;
    }
    for (const auto& [name, p] : parameters.items()) {
      const auto is = [&p = p](const char* key, bool value) {
        return p.is_object() && p.contains(key) && p[key] == value;
      };
      const bool fixed = is("fixed", true), bound = is("at_bound", true);
      const std::string unit = p.is_object() && p.contains("unit") && p["unit"].is_string() ? p["unit"] : "";
      table.rows.push_back({fit.name, fit.strategy, name, cell(number(p, "value")), cell(number(p, "standard_error")),
                            unit, static_cast<std::int64_t>(bound), static_cast<std::int64_t>(fixed),
                            static_cast<std::int64_t>(!fixed && !bound && is("identified", false))});
    }
  }
  return table;
}

Table fit_residuals_table(std::span<const store::FitRow> rows) {
  Table table;
  table.name = "fit_residuals";
  table.title = "Residuals of the fits";
  table.note = "Relative error = fitted / measured − 1.";
  table.empty = "No fitted model in this file.";
  table.columns = {text("fit", "fit"),
                   text("strategy", "strategy"),
                   count("workers", "N", "workers"),
                   count("bytes", "size", "bytes"),
                   seconds("measured_s", "measured"),
                   seconds("fitted_s", "fitted", "measured_s"),
                   share("relative_error", "relative error")};
  table.key_columns = 4;
  for (const store::FitRow& fit : rows) {
    const auto points = ordered_json::parse(fit.residuals, nullptr, false);
    if (!points.is_array()) {
      table.rows.push_back({fit.name, fit.strategy, Cell(), Cell(), Cell(), Cell(), Cell()});
      continue;
    }
    for (const auto& point : points) {
      const double measured = number(point, "measured_s");
      const double fitted = number(point, "fitted_s");
      table.rows.push_back({fit.name, fit.strategy, integer_cell(point, "workers"), integer_cell(point, "bytes"),
                            cell(measured), cell(fitted), measured > 0 ? cell(fitted / measured - 1.0) : Cell()});
    }
  }
  return table;
}

Table fit_parameters_table(const Source& source) { return fit_parameters_table(read_fits(source)); }

Table fit_residuals_table(const Source& source) { return fit_residuals_table(read_fits(source)); }

Table predictions_table(const Source& source) { return predictions_table(read_predictions(source)); }

Table knee_table(const Source& source) {
  const bool shared_resource = std::ranges::any_of(source.configurations, [](const metrics::Configuration& one) {
    return one.step_times_only && !one.communication_known;
  });
  return knee_table(metrics::measured_scaling(source.configurations), read_predictions(source), shared_resource);
}

}  // namespace ddpprof::report
