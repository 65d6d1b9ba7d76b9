#include "analysis/report/tables/source.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <utility>

#include "simulator/stats/summary.hpp"

namespace ddpprof::report {

const Table* outlook_of(const Source& source, std::string_view name) {
  const auto found = std::ranges::find(source.outlook, name, &Table::name);
  return found == source.outlook.end() ? nullptr : &*found;
}

std::string why_no_step(const Source& source) {
  SQLite::Statement failed(source.db, "SELECT message, advice FROM diagnostic WHERE code = 'run_failed' ORDER BY rowid");
  if (!source.configurations.empty() || !failed.executeStep()) return no_measured_step;
  return "No measured step: " + failed.getColumn(0).getString() + "; " + failed.getColumn(1).getString() + ".";
}

std::vector<Column> configuration_columns() {
  return {text("model", "model", true), text("strategy", "strategy"), count("workers", "N", "workers"),
          count("global_batch_samples", "global batch", "samples")};
}

Row configuration_cells(const metrics::Configuration& c) {
  return {c.model, c.strategy, c.world_size_known ? Cell(c.world_size) : Cell(),
          c.global_batch() > 0 ? Cell(c.global_batch()) : Cell()};
}

std::string op_text(const std::string& op, std::int64_t workers) { return workers == 1 ? "local " + op : op; }

Table table_of_configurations(std::string name, std::string title, std::string note) {
  Table table;
  table.name = std::move(name);
  table.title = std::move(title);
  table.note = std::move(note);
  table.columns = configuration_columns();
  table.key_columns = configuration_column_count;
  return table;
}

bool timed_without_profiler(const Source& source) {
  return std::ranges::any_of(source.configurations,
                             [](const metrics::Configuration& c) { return !c.untraced.empty(); });
}

std::map<std::int64_t, std::size_t> configuration_of_measurement(const Source& source) {
  std::map<std::int64_t, std::size_t> of;
  for (std::size_t i = 0; i < source.configurations.size(); ++i) {
    for (const std::int64_t id : source.configurations[i].measurements) of[id] = i;
  }
  return of;
}

Cell median_cell(const std::vector<double>& values) { return values.empty() ? Cell() : Cell(stats::median(values)); }

}  // namespace ddpprof::report
