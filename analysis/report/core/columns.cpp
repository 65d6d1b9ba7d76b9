#include "analysis/report/core/columns.hpp"

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

Cell known(const std::optional<double>& value) {
  Cell cell;
  if (value) cell = *value;
  return cell;
}

Cell where_positive(double value) { return value > 0.0 ? Cell(value) : Cell(); }

Cell ratio(std::optional<double> part, double whole) {
  return known(part && whole > 0 ? std::optional(*part / whole) : std::nullopt);
}

void append(Table& table, std::vector<Column> columns) {
  for (Column& column : columns) table.columns.push_back(std::move(column));
}

void erase_column(Table& table, std::size_t at) {
  const auto place = static_cast<std::ptrdiff_t>(at);
  table.columns.erase(table.columns.begin() + place);
  for (Row& row : table.rows) row.erase(row.begin() + place);
}

}  // namespace ddpprof::report
