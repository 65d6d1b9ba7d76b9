#include "analysis/report/core/display.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

bool says_nothing(const Table& table, std::size_t column) {
  const bool all_unknown = std::all_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
    return std::holds_alternative<std::monostate>(row[column]);
  });
  if (table.rows.empty()) return false;
  if (all_unknown) return true;
  if (table.columns[column].hide_zero) {
    return std::all_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
      if (const double* value = std::get_if<double>(&row[column])) return *value == 0.0;
      if (const auto* whole = std::get_if<std::int64_t>(&row[column])) return *whole == 0;
      return std::holds_alternative<std::monostate>(row[column]);
    });
  }
  return table.columns[column].hide_constant && std::all_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
           return row[column] == table.rows.front()[column];
         });
}

std::vector<double> values_of(const Table& table, std::size_t column) {
  std::vector<double> values;
  for (const Row& row : table.rows) {
    if (const double* value = std::get_if<double>(&row[column])) values.push_back(*value);
  }
  return values;
}

// Quantities without a unit (learning rates, losses) have six significant digits: their magnitudes differ within a
// column, so common decimals would hide small values.
bool general(const Column& column) { return column.kind == Kind::real && column.unit.empty(); }

std::string shown_cell(const Column& column, const Cell& cell, const units::Scale& scale) {
  if (std::holds_alternative<std::monostate>(cell)) return "–";
  if (const auto* words = std::get_if<std::string>(&cell)) return one_line(*words);
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    if (column.kind == Kind::flag) return *whole != 0 ? "yes" : "no";
    return column.unit == "bytes" ? units::format_bytes(*whole) : std::to_string(*whole);
  }
  const double value = std::get<double>(cell);
  // Sizes of messages differ within a column, so each has its own unit.
  if (column.unit == "bytes" && std::fabs(value) < 9e18) return units::format_bytes(std::llround(value));
  if (general(column)) return fmt::format("{:.6g}", value);
  if (column.kind == Kind::share) return units::format_number(value * 100.0, scale);
  if (column.digits > 0) return units::format_significant(value / scale.factor, column.digits);
  return units::format_number(value, scale);
}

}  // namespace

std::size_t display_width(const std::string& utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string one_line(const std::string& text) {
  std::string line = text;
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

// A column of zeros takes the unit of the nearest column before it, or after it, with a non-zero value.
void lend_scales(const Table& table, std::map<std::string, units::Scale>& scales, const std::set<std::string>& zeros) {
  const auto& columns = table.columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!zeros.contains(columns[i].name)) continue;
    std::size_t best = columns.size(), best_distance = columns.size();
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const std::size_t distance = j < i ? i - j : j - i;
      const bool lends = columns[j].kind == Kind::real && columns[j].unit == columns[i].unit &&
                         scales.contains(columns[j].name) && !zeros.contains(columns[j].name);
      if (lends && distance < best_distance) best = j, best_distance = distance;
    }
    if (best < columns.size()) scales[columns[i].name] = scales[columns[best].name];
  }
}

std::vector<ShownColumn> show(const Table& table) {
  std::map<std::string, units::Scale> scales;
  std::set<std::string> zeros;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    if (column.kind == Kind::share) {
      scales[column.name] = units::Scale{1.0, "%", 1};
    } else if (column.kind == Kind::real && !general(column)) {
      const std::vector<double> values = values_of(table, i);
      scales[column.name] = units::choose_scale(column.unit, values);
      if (std::all_of(values.begin(), values.end(), [](double value) { return value == 0.0; }))
        zeros.insert(column.name);
    }
  }
  lend_scales(table, scales, zeros);
  std::vector<ShownColumn> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    if (says_nothing(table, i)) continue;
    units::Scale scale = scales.contains(column.name) ? scales[column.name] : units::Scale{};
    if (!column.scale_with.empty() && scales.contains(column.scale_with)) scale = scales[column.scale_with];
    ShownColumn out;
    out.title = column.title;
    out.column = i;
    const std::string unit = column.unit == "bytes" ? "" : column.kind == Kind::integer ? column.unit : scale.unit;
    // For "N" and "threads per rank" the title contains the unit.
    const bool in_title = column.kind == Kind::integer && (unit == "workers" || column.title.find(unit) == 0);
    if (!in_title) out.unit = unit;
    out.right = column.kind != Kind::text && column.kind != Kind::prose;
    out.prose = column.kind == Kind::prose;
    out.key = static_cast<int>(i) < table.key_columns;
    for (const Row& row : table.rows) out.cells.push_back(shown_cell(column, row[i], scale));
    shown.push_back(std::move(out));
  }
  return shown;
}

}  // namespace ddpprof::report
