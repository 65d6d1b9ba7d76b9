// The content of a trace database as one text, for comparison.
#pragma once

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tracer/store/database.hpp"

namespace ddpprof::fuzz {

enum class RowOrder { as_they_lie, by_value };

// Every row of every table, each value with its type.
inline std::string all_rows(store::Database& database, RowOrder order = RowOrder::as_they_lie) {
  std::string all;
  for (const store::Table& table : store::tables()) {
    all += std::string(table.name) + '\n';
    std::string by = "rowid";
    if (order == RowOrder::by_value) {
      by = "1";
      for (std::size_t column = 2; column <= table.columns.size(); ++column) by += ", " + std::to_string(column);
    }
    SQLite::Statement query(database.sql(), "SELECT * FROM \"" + std::string(table.name) + "\" ORDER BY " + by);
    while (query.executeStep()) {
      for (int at = 0; at < query.getColumnCount(); ++at) {
        const SQLite::Column value = query.getColumn(at);
        all += static_cast<char>('0' + value.getType());
        all += value.isFloat() ? std::to_string(std::bit_cast<std::uint64_t>(value.getDouble())) : value.getString();
        all += '\x1f';
      }
      all += '\n';
    }
  }
  return all;
}

}  // namespace ddpprof::fuzz
