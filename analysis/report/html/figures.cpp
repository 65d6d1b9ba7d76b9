#include "analysis/report/html/figures.hpp"

#include <initializer_list>

#include "analysis/report/html/table_reader.hpp"

namespace ddpprof::report::html {
namespace {

// Returns true if `table` is the first of these tables that has rows in the report.
bool first_of(const Report& report, const Table& table, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const Table* found = table_of(report, name)) return found == &table;
  return false;
}

void add(std::vector<Figure>& all, std::vector<Figure> more) {
  for (Figure& figure : more) all.push_back(std::move(figure));
}

}  // namespace

std::vector<Figure> figures_for(const Report& report, const Table& table) {
  std::vector<Figure> all;
  if (table.rows.empty()) return all;
  if (first_of(report, table, {"step", "weak_scaling", "predictions"})) add(all, scaling_figures(report));
  if (first_of(report, table, {"time", "predictions"})) add(all, parts_figures(report));
  if (table.name == "comm") add(all, collective_figures(table));
  if (table.name == "fit_residuals") add(all, fitted_figures(table));
  if (first_of(report, table, {"skew", "ranks"})) add(all, rank_figures(table));
  return all;
}

}  // namespace ddpprof::report::html
