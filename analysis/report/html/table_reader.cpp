#include "analysis/report/html/table_reader.hpp"

#include <cmath>

namespace ddpprof::report::html {

const Table* table_of(const Report& report, std::string_view name) {
  for (const Table& table : report.tables)
    if (table.name == name && !table.rows.empty()) return &table;
  return nullptr;
}

std::optional<std::size_t> TableReader::index_of(std::string_view column) const {
  for (std::size_t i = 0; i < table_.columns.size(); ++i)
    if (table_.columns[i].name == column) return i;
  return std::nullopt;
}

std::optional<double> TableReader::number(const Row& row, std::string_view column) const {
  const auto at = index_of(column);
  if (!at || *at >= row.size()) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&row[*at])) return static_cast<double>(*whole);
  const auto* value = std::get_if<double>(&row[*at]);
  return value != nullptr && std::isfinite(*value) ? std::optional(*value) : std::nullopt;
}

std::string TableReader::text(const Row& row, std::string_view column) const {
  const auto at = index_of(column);
  if (!at || *at >= row.size()) return "";
  if (const auto* words = std::get_if<std::string>(&row[*at])) return *words;
  if (const auto* whole = std::get_if<std::int64_t>(&row[*at])) return std::to_string(*whole);
  return "";
}

}  // namespace ddpprof::report::html
