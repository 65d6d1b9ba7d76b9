// What tables with rows of every configuration share. Internal to the report library.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/tables/source.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::report {

inline double to_s(double ns) { return ns / 1e9; }

inline std::map<std::int64_t, std::size_t> configuration_of_measurement(const Source& source) {
  std::map<std::int64_t, std::size_t> of;
  for (std::size_t i = 0; i < source.configurations.size(); ++i) {
    for (const std::int64_t id : source.configurations[i].measurements) of[id] = i;
  }
  return of;
}

inline Cell median_cell(const std::vector<double>& values) {
  return values.empty() ? Cell() : Cell(stats::median(values));
}

inline Table table_of_configurations(std::string name, std::string title, std::string note) {
  Table table;
  table.name = std::move(name);
  table.title = std::move(title);
  table.note = std::move(note);
  table.columns = configuration_columns();
  table.key_columns = configuration_column_count;
  return table;
}

inline void append(Table& table, std::vector<Column> columns) {
  for (Column& column : columns) table.columns.push_back(std::move(column));
}

}  // namespace ddpprof::report
