// Columns and cells that several tables share.
#include "analysis/report/core/columns.hpp"

#include "analysis/report/tables/source.hpp"

namespace ddpprof::report {

Column text(std::string name, std::string title, bool hide_constant) {
  Column column{std::move(name), std::move(title), "", Kind::text, "", hide_constant, false};
  return column;
}

Column prose(std::string name, std::string title) {
  return Column{std::move(name), std::move(title), "", Kind::prose, "", false, false};
}

Column flag(std::string name, std::string title) {
  return Column{std::move(name), std::move(title), "", Kind::flag, "", false, false};
}

Column digits(Column column, int count) {
  column.digits = count;
  return column;
}

Column count(std::string name, std::string title, std::string unit) {
  return Column{std::move(name), std::move(title), std::move(unit), Kind::integer, "", false, false};
}

Column seconds(std::string name, std::string title, std::string scale_with) {
  return Column{std::move(name), std::move(title), "s", Kind::real, std::move(scale_with), false, false};
}

Column quantity(std::string name, std::string title, std::string unit) {
  return Column{std::move(name), std::move(title), std::move(unit), Kind::real, "", false, false};
}

Column share(std::string name, std::string title) {
  return Column{std::move(name), std::move(title), "", Kind::share, "", false, false};
}

std::vector<Column> configuration_columns() {
  return {text("model", "model", true), text("strategy", "strategy"), count("workers", "N", "workers"),
          count("global_batch_samples", "global batch", "samples")};
}

Row configuration_cells(const Configuration& c) {
  return {c.model, c.strategy, c.world_size, c.global_batch() > 0 ? Cell(c.global_batch()) : Cell()};
}

Cell known(const std::optional<double>& value) {
  Cell cell;
  if (value) cell = *value;
  return cell;
}

Cell where_positive(double value) { return value > 0.0 ? Cell(value) : Cell(); }

Cell ratio(std::optional<double> part, double whole) {
  return known(part && whole > 0 ? std::optional(*part / whole) : std::nullopt);
}

std::string op_text(const std::string& op, std::int64_t workers) { return workers == 1 ? "local " + op : op; }

double bus_factor(const std::string& op, std::int64_t workers) {
  const double n = static_cast<double>(workers);
  if (op == "all_reduce") return 2.0 * (n - 1.0) / n;
  if (op == "all_gather" || op == "reduce_scatter") return (n - 1.0) / n;
  return 1.0;
}

}  // namespace ddpprof::report
