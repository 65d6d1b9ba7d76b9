// Values of a report's table by the names of its columns, for figures.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/report/core/table.hpp"

namespace ddpprof::report::html {

// The report's table of that name with at least one row; nullptr without.
const Table* table_of(const Report&, std::string_view name);

class TableReader {
 public:
  explicit TableReader(const Table& table) : table_(table) {}

  bool has(std::string_view column) const { return index_of(column).has_value(); }
  // In the column's base unit; nothing where the column is absent, the cell unknown, a word or not finite.
  std::optional<double> number(const Row&, std::string_view column) const;
  // "" where the column is absent or the cell unknown; whole numbers in decimal.
  std::string text(const Row&, std::string_view column) const;
  const std::vector<Row>& rows() const { return table_.rows; }

 private:
  std::optional<std::size_t> index_of(std::string_view column) const;
  const Table& table_;
};

}  // namespace ddpprof::report::html
