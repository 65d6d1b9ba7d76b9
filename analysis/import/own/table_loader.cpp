#include "analysis/import/own/table_loader.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>

namespace ddpprof::import {
namespace {

// Enough of a text to find it by.
std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  return "\"" + std::string(text.substr(0, most)) + (text.size() > most ? "…" : "") + "\"";
}

std::string shown_cell(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string_view>(&cell)) return shown(*text);
  return "no value";
}

std::string_view wanted(CellType type) {
  switch (type) {
    case CellType::whole:
      return "a whole number";
    case CellType::real:
      return "a number";
    case CellType::text:
      return "a text";
    case CellType::any:
      return "a number or a text";
  }
  return "";
}

}  // namespace

CellType type_of(const store::Column& column) {
  if (column.type.starts_with("INTEGER")) return CellType::whole;
  if (column.type.starts_with("REAL")) return CellType::real;
  return column.type.starts_with("TEXT") ? CellType::text : CellType::any;
}

bool may_be_null(const store::Column& column) {
  return column.type.find("NOT NULL") == std::string_view::npos &&
         column.type.find("PRIMARY KEY") == std::string_view::npos;
}

const store::Table* find_table(std::string_view name) {
  for (const store::Table& table : store::tables())
    if (table.name == name) return &table;
  return nullptr;
}

TableLoader::TableLoader(store::Database& database, std::string_view table, std::span<const std::string> columns,
                         const Place& place)
    : database_(database), table_(find_table(table)) {
  if (!table_)
    throw OwnExportError(
        fmt::format("{}no table {} in schema version {}", place.text(), shown(table), store::schema_version));
  for (const std::string& name : columns) {
    const auto found = std::ranges::find(table_->columns, name, &store::Column::name);
    if (found == table_->columns.end())
      throw OwnExportError(
          fmt::format("{}table {} has no column {} in schema version {}; was it written by another "
                      "version of ddpprof, or edited? Export the database again with this one",
                      place.text(), table, shown(name), store::schema_version));
    const auto at = static_cast<std::size_t>(found - table_->columns.begin());
    if (std::ranges::find(places_, at) != places_.end())
      throw OwnExportError(
          fmt::format("{}column {} stands twice (expected each column of table {} once)", place.text(), name, table));
    places_.push_back(at);
  }
  for (std::size_t i = 0; i < table_->columns.size(); ++i)
    if (std::ranges::find(places_, i) == places_.end())
      throw OwnExportError(
          fmt::format("{}column {} of table {} is missing (expected all of schema version {}); was it "
                      "written by an older version of ddpprof, or edited? Export the database again "
                      "with this one",
                      place.text(), table_->columns[i].name, table, store::schema_version));
  statement_.emplace(database, table, table_->columns.size());
}

void TableLoader::bind(std::size_t cell, const Cell& value, const Place& place) {
  const store::Column& column = this->column(cell);
  const int index = static_cast<int>(places_[cell]) + 1;
  const CellType type = type_of(column);
  if (std::holds_alternative<std::monostate>(value)) {
    if (!may_be_null(column))
      throw OwnExportError(fmt::format("{}column {} of table {} has no value (expected {})", place.text(), column.name,
                                       table_->name, wanted(type)));
    return statement_->bind_null(index);
  }
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    if (type == CellType::whole || type == CellType::any) return statement_->bind(index, *whole);
    if (type == CellType::real) return statement_->bind(index, static_cast<double>(*whole));
  } else if (const auto* real = std::get_if<double>(&value)) {
    if ((type == CellType::real || type == CellType::any) && !std::isnan(*real)) return statement_->bind(index, *real);
  } else if (const auto* text = std::get_if<std::string_view>(&value)) {
    if (type == CellType::text || type == CellType::any) return statement_->bind(index, *text);
  }
  throw OwnExportError(fmt::format("{}column {} of table {} is {} (expected {}{})", place.text(), column.name,
                                   table_->name, shown_cell(value), wanted(type),
                                   may_be_null(column) ? ", or none" : ""));
}

void TableLoader::insert(std::span<const Cell> cells, const Place& place) {
  if (cells.size() != places_.size())
    throw OwnExportError(fmt::format("{}a row of table {} has {} cell{} (expected {}, as its columns)", place.text(),
                                     table_->name, cells.size(), cells.size() == 1 ? "" : "s", places_.size()));
  for (std::size_t i = 0; i < cells.size(); ++i) bind(i, cells[i], place);
  try {
    statement_->step();
  } catch (const store::DatabaseError& error) {
    if (!breaks_schema(database_)) throw;
    throw OwnExportError(fmt::format("{}a row of table {} is there already or breaks a rule of the schema: {}",
                                     place.text(), table_->name, sqlite3_errmsg(database_.sql().getHandle())));
  }
  ++rows_;
}

bool breaks_schema(store::Database& database) {
  return (sqlite3_extended_errcode(database.sql().getHandle()) & 0xff) == SQLITE_CONSTRAINT;
}

std::string Dangling::text() const {
  return fmt::format("{} {} of table {} refers to no row of table {}", column, value, table, refers_to);
}

std::optional<Dangling> first_dangling(store::Database& database) {
  try {
    SQLite::Statement check(database.sql(), "PRAGMA foreign_key_check");
    if (!check.executeStep()) return std::nullopt;
    Dangling found;
    found.table = check.getColumn(0).getString();
    found.rowid = check.getColumn(1).getInt64();
    found.refers_to = check.getColumn(2).getString();
    SQLite::Statement column(database.sql(), "SELECT \"from\" FROM pragma_foreign_key_list(?) WHERE id = ?");
    column.bind(1, found.table);
    column.bind(2, check.getColumn(3).getInt64());
    if (column.executeStep()) found.column = column.getColumn(0).getString();
    SQLite::Statement value(database.sql(),
                            fmt::format("SELECT \"{}\" FROM \"{}\" WHERE rowid = ?", found.column, found.table));
    value.bind(1, found.rowid);
    if (value.executeStep()) found.value = value.getColumn(0).getInt64();
    return found;
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, database.path());
  }
}

}  // namespace ddpprof::import
