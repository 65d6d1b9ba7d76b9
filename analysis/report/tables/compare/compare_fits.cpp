// The fitted models of two files and their parameters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/report/tables/compare/compare_parts.hpp"
#include "analysis/report/tables/models/stored_models.hpp"
#include "simulator/stats/normal.hpp"

namespace ddpprof::report {
namespace {

// Rows of both tables matched by the text of their key columns: A's order, then rows that only B has.
struct Beside {
  const Row* a = nullptr;
  const Row* b = nullptr;
};

std::string key_of(const Table& table, const Row& row, const std::vector<std::string>& keys) {
  std::string key;
  for (const std::string& name : keys) key += text_of(table, row, name) + '\n';
  return key;
}

std::vector<Beside> beside(const Table& a, const Table& b, const std::vector<std::string>& keys) {
  std::vector<Beside> all;
  std::vector<const Row*> left;
  for (const Row& row : b.rows) left.push_back(&row);
  for (const Row& row : a.rows) {
    Beside one{&row, nullptr};
    const auto same = std::find_if(left.begin(), left.end(),
                                   [&](const Row* other) { return key_of(b, *other, keys) == key_of(a, row, keys); });
    if (same != left.end()) {
      one.b = *same;
      left.erase(same);
    }
    all.push_back(one);
  }
  for (const Row* row : left) all.push_back({nullptr, row});
  return all;
}

Cell of(const Table& table, const Row* row, const std::string& name) {
  return row == nullptr ? Cell() : cell_or_unknown(table, *row, name);
}

Cell either(const Table& a, const Table& b, const Beside& both, const std::string& name) {
  return both.a != nullptr ? cell_or_unknown(a, *both.a, name) : cell_or_unknown(b, *both.b, name);
}

std::optional<double> number(const Cell& cell) {
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return std::nullopt;
}

bool set(const Cell& cell) {
  const auto* flag = std::get_if<std::int64_t>(&cell);
  return flag != nullptr && *flag != 0;
}

Table fits_of(const Source& source) { return fit_table(source); }

struct Judgement {
  std::string verdict, why;
};

// Returns the form of the model to which a parameter belongs, from the table of fits.
std::string form_of(const Table& fits, const Table& parameters, const Row& parameter) {
  const std::vector<std::string> keys = {"fit", "strategy"};
  for (const Row& fit : fits.rows)
    if (key_of(fits, fit, keys) == key_of(parameters, parameter, keys)) return text_of(fits, fit, "form");
  return "";
}

// Returns "ring / gloo-segmented-ring" if the parameters belong to models of different forms and are not comparable.
std::string other_form(const Table& fits_a, const Table& a, const Table& fits_b, const Table& b, const Beside& both) {
  if (both.a == nullptr || both.b == nullptr) return "";
  const std::string in_a = form_of(fits_a, a, *both.a), in_b = form_of(fits_b, b, *both.b);
  return in_a == in_b ? "" : in_a + " / " + in_b;
}

// Compares two independent estimates: difference / its standard error.
Judgement judge(const Table& a, const Table& b, const Beside& both, const std::string& forms) {
  if (both.a == nullptr || both.b == nullptr) return {cannot_tell, both.a == nullptr ? "only in B" : "only in A"};
  if (!forms.empty()) return {cannot_tell, "other form: " + forms};
  const auto of_a = number(of(a, both.a, "value")), of_b = number(of(b, both.b, "value"));
  if (!of_a || !of_b) return {cannot_tell, "no value"};
  const auto either_is = [&](const char* flag) { return set(of(a, both.a, flag)) || set(of(b, both.b, flag)); };
  if (either_is("fixed"))
    return *of_a == *of_b ? Judgement{no_difference, "not fitted"}
                          : Judgement{different, "not fitted; set to different values"};
  if (either_is("assumed")) return {cannot_tell, "assumed, not measured"};
  if (either_is("at_bound")) return {cannot_tell, "at a bound of the fit"};
  const auto error_a = number(of(a, both.a, "standard_error")), error_b = number(of(b, both.b, "standard_error"));
  const double error = std::hypot(error_a.value_or(0.0), error_b.value_or(0.0));
  if (!error_a || !error_b || !(error > 0.0)) return {cannot_tell, "no standard error"};
  const double p = 2.0 * stats::normal_cdf(-std::abs(*of_b - *of_a) / error);
  return {p < 1.0 - metrics::confidence ? different : no_difference, fmt::format("p = {:.2g}", p)};
}

}  // namespace

Table compare_fits_table(const Source& a, const Source& b) {
  const Table in_a = reading(a, fits_of), in_b = reading(b, fits_of);
  Table table;
  table.name = "compare_fits";
  table.title = "Fitted models";
  table.empty = "No fitted model in either file.";
  table.columns = {text("fit", "fit"), text("strategy", "strategy")};
  table.key_columns = 2;
  // The columns of the fit table, each for A and B.
  std::vector<Column> shared;
  for (const Column& column : in_a.columns)
    if (column.name != "fit" && column.name != "strategy" && column.name != "parameters") shared.push_back(column);
  for (const Column& column : shared) {
    for (const char* side : {"a", "b"}) {
      Column twice = column;
      twice.name = std::string(side) + "_" + column.name;
      twice.title = column.title + (side[0] == 'a' ? ", A" : ", B");
      twice.scale_with = side[0] == 'a' ? "" : "a_" + column.name;
      twice.hide_constant = false;
      table.columns.push_back(std::move(twice));
    }
  }
  for (const Beside& both : beside(in_a, in_b, {"fit", "strategy"})) {
    Row row = {either(in_a, in_b, both, "fit"), either(in_a, in_b, both, "strategy")};
    for (const Column& column : shared) {
      row.push_back(of(in_a, both.a, column.name));
      row.push_back(of(in_b, both.b, column.name));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table compare_parameters_table(const Source& a, const Source& b) {
  const auto parameters_of = [](const Source& source) { return fit_parameters_table(source); };
  const Table in_a = reading(a, parameters_of), in_b = reading(b, parameters_of);
  const Table fits_a = reading(a, fits_of), fits_b = reading(b, fits_of);
  Table table;
  table.name = "compare_parameters";
  table.title = "Parameters of the fits";
  table.note =
      "Different: the difference exceeds 1.96 of its standard errors, with independent errors in A and B. Assumed "
      "values, values at a bound and parameters of models with different forms are not compared.";
  table.empty = "No fitted model in either file.";
  table.columns = {text("fit", "fit"),
                   text("strategy", "strategy"),
                   text("parameter", "parameter"),
                   quantity("a_value", "A", ""),
                   quantity("a_standard_error", "± A", ""),
                   quantity("b_value", "B", ""),
                   quantity("b_standard_error", "± B", ""),
                   text("unit", "unit"),
                   digits(quantity("ratio", "B / A", "×"), 3),
                   text("verdict", "verdict"),
                   prose("why", "why")};
  table.key_columns = 3;
  std::vector<std::pair<int, Row>> rows;
  for (const Beside& both : beside(in_a, in_b, {"fit", "strategy", "parameter", "unit"})) {
    const std::string forms = other_form(fits_a, in_a, fits_b, in_b, both);
    const Judgement judged = judge(in_a, in_b, both, forms);
    const auto value_a = number(of(in_a, both.a, "value")), value_b = number(of(in_b, both.b, "value"));
    Cell ratio;
    if (forms.empty() && value_a && value_b && *value_a != 0.0) ratio = *value_b / *value_a;
    rows.emplace_back(
        judged.verdict == different     ? 0
        : judged.verdict == cannot_tell ? 1
                                        : 2,
        Row{either(in_a, in_b, both, "fit"), either(in_a, in_b, both, "strategy"),
            either(in_a, in_b, both, "parameter"), of(in_a, both.a, "value"), of(in_a, both.a, "standard_error"),
            of(in_b, both.b, "value"), of(in_b, both.b, "standard_error"), either(in_a, in_b, both, "unit"), ratio,
            judged.verdict, judged.why});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  for (auto& [rank, row] : rows) table.rows.push_back(std::move(row));
  return table;
}

}  // namespace ddpprof::report
