// A report as data: named, typed tables. report.hpp builds them from a trace database; render/render.hpp turns them
// into text, CSV, JSON, Markdown or HTML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ddpprof::report {

enum class Kind {
  text,     // a short word
  prose,    // a sentence; wrapped if the width is limited
  integer,  // a count or an index
  real,     // a measured quantity, in the column's base unit
  share,    // a ratio; shown as a percentage, stored as it is
  flag,     // 0 or 1, shown as no or yes
};

// `name` is stable and carries the base unit (step_median_s); `title` is what people read, without a unit.
struct Column {
  std::string name, title;
  std::string unit;  // base unit: s, bytes, bytes/s, samples/s, samples, steps, workers, …; "" for none
  Kind kind = Kind::text;
  std::string scale_with;      // name of the column whose display unit this one shares, "" for its own
  bool hide_constant = false;  // left out of text, Markdown and HTML if all rows have the same value
  bool hide_zero = false;      // left out if all rows are zero or unknown
  int digits = 0;              // significant digits of each cell; 0: the whole column has the same decimals
};

using Cell = std::variant<std::monostate, std::string, std::int64_t, double>;  // monostate: not known, not measured
using Row = std::vector<Cell>;

struct Table {
  std::string name, title;
  std::string note;  // the rule the numbers follow
  std::vector<Column> columns;
  std::vector<Row> rows;
  int key_columns = 0;     // leading columns that are repeated when a wide table is folded
  bool as_record = false;  // one row, shown as a list of names and values
  bool plain = false;      // as text without headings of columns
  std::string empty;       // text of a table without rows: the reason and what to do
  std::string section{};   // heading above this table and the following ones in long reports
};

// Returns the row's cell in the column with this name. Throws std::out_of_range if the table does not have the column.
const Cell& cell_of(const Table&, const Row&, std::string_view column);

// Returns the cell's value, or nothing if the cell is unknown or has another type. Throws like cell_of.
template <class Value>
std::optional<Value> value_of(const Table& table, const Row& row, std::string_view column) {
  const auto* value = std::get_if<Value>(&cell_of(table, row, column));
  return value ? std::optional(*value) : std::nullopt;
}

struct Report {
  std::string name, title;
  std::vector<Table> tables;
  std::string note{};  // what the report does not contain, and where to find it
};

}  // namespace ddpprof::report
