#include "analysis/report/core/table.hpp"

#include <algorithm>

namespace ddpprof::report {

const Cell& cell_of(const Table& table, const Row& row, std::string_view column) {
  const auto found = std::ranges::find(table.columns, column, &Column::name);
  return row.at(static_cast<std::size_t>(found - table.columns.begin()));
}

}  // namespace ddpprof::report
