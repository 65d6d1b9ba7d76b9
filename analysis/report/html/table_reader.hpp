// Reads values of a table by column name, for figures.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/report/core/table.hpp"

namespace ddpprof::report::html {

// Returns the report's table with this name if it has at least one row, otherwise nullptr.
const Table* table_of(const Report&, std::string_view name);

class TableReader {
 public:
  explicit TableReader(const Table& table) : table_(table) {}

  bool has(std::string_view column) const { return index_of(column).has_value(); }
  // Returns the value in the column's base unit. Empty if the column is missing, or the cell is unknown, text or not
  // finite.
  std::optional<double> number(const Row&, std::string_view column) const;
  // Returns "" if the column is missing or the cell is unknown; integers in decimal.
  std::string text(const Row&, std::string_view column) const;
  const std::vector<Row>& rows() const { return table_.rows; }

 private:
  std::optional<std::size_t> index_of(std::string_view column) const;
  const Table& table_;
};

}  // namespace ddpprof::report::html
