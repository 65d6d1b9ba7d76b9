// The tables, columns and indexes of the trace database. The DDL and docs/reference/schema.md are generated from these
// declarations.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ddpprof::store {

inline constexpr int schema_version = 9;  // PRAGMA user_version

struct Column {
  std::string_view name;
  std::string_view type;  // SQLite declaration, constraints included
  std::string_view unit;  // "" without a unit
  std::string_view doc;
};

struct Table {
  std::string_view name;
  std::string_view doc;
  std::span<const Column> columns;
  std::string_view constraints;  // table constraints, "" for none
};

struct View {
  std::string_view name;
  std::string_view doc;
  std::string_view select;
};

struct Index {
  std::string_view name;
  std::string_view on;  // "table(column, …)"
};

std::span<const Table> tables();
// Throws std::logic_error if the schema has no table `name` with `columns` columns: the row struct is out of date.
const Table& declared_table(std::string_view name, std::size_t columns);
std::span<const View> views();
std::span<const Index> indexes();  // created after the load

std::string create_tables_sql();
std::string create_indexes_sql();
std::string schema_markdown();  // docs/reference/schema.md

}  // namespace ddpprof::store
