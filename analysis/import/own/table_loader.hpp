// Loads rows of any table of the schema, by the names of their columns; nothing is guessed, made up or converted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/import/own/error.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/schema/schema.hpp"

namespace ddpprof::import {

// NULL, a whole number, a real one (no NaN: SQLite has none), a text of any bytes.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string_view>;

enum class CellType { whole, real, text, any };
CellType type_of(const store::Column&);
bool may_be_null(const store::Column&);

const store::Table* find_table(std::string_view name);  // null: the schema has none of that name

// For rows in the order in which they are to lie in the database.
class TableLoader {
 public:
  // `columns`: what each cell of a row is, in any order, all of the table's. Throws OwnExportError where the table or a
  // column is unknown, stands twice or is missing.
  TableLoader(store::Database&, std::string_view table, std::span<const std::string> columns, const Place&);

  // Throws OwnExportError where the row is of another length, a cell of another type (a whole number will do for a real
  // one), NULL where there must be a value, or the row's key is there already; store::DatabaseError.
  void insert(std::span<const Cell>, const Place&);

  const store::Table& table() const { return *table_; }
  const store::Column& column(std::size_t cell) const { return table_->columns[places_[cell]]; }
  std::int64_t rows() const { return rows_; }

 private:
  void bind(std::size_t cell, const Cell&, const Place&);

  store::Database& database_;
  const store::Table* table_;
  std::vector<std::size_t> places_;  // of each cell among the table's columns
  std::optional<store::InsertStatement> statement_;
  std::int64_t rows_ = 0;
};

// A reference to a row that is not there. The order of loading does not matter, so this is asked once, at the end.
struct Dangling {
  std::string table, column, refers_to;
  std::int64_t rowid = 0, value = 0;
  std::string text() const;  // "step_id 99 of table collective refers to no row of table step"
};
std::optional<Dangling> first_dangling(store::Database&);  // throws store::DatabaseError

// Of a DatabaseError that was just thrown: the row breaks a rule of the schema (and nothing is wrong with the system).
bool breaks_schema(store::Database&);

}  // namespace ddpprof::import
