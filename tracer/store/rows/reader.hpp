// Reads whole rows of a table into the structs of rows.hpp: the counterpart of inserter.hpp.
#pragma once

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tracer/store/rows/rows.hpp"

namespace SQLite {
class Database;
}

namespace ddpprof::store {

// Returns "SELECT every column of the schema FROM table". Throws std::logic_error if the schema has no such table with
// `columns` columns.
std::string select_all(std::string_view table, std::size_t columns);

// One prepared statement that can be run again with other values.
template <class Row>
class Reader {
 public:
  // `clause` follows the table's name, for example "WHERE shard_id = ? ORDER BY start_ns".
  Reader(SQLite::Database& database, std::string_view clause)
      : query_(database, select_all(Row::table, std::tuple_size_v<Fields>) + " " + std::string(clause)) {}

  // Binds `values` to the clause's parameters, in order. Throws SQLite::Exception.
  template <class... Values>
  std::vector<Row> read(const Values&... values) {
    query_.reset();
    int parameter = 0;
    (query_.bind(++parameter, values), ...);
    std::vector<Row> rows;
    while (query_.executeStep()) {
      int column = 0;
      // fields() is const, as inserting needs it; the row itself is not.
      std::apply([&](const auto&... field) { (get(column++, const_cast<Mutable<decltype(field)>&>(field)), ...); },
                 rows.emplace_back().fields());
    }
    return rows;
  }

 private:
  using Fields = decltype(std::declval<const Row&>().fields());
  template <class T>
  using Mutable = std::remove_cvref_t<T>;

  template <class T>
  void get(int column, std::optional<T>& value) {
    if (query_.getColumn(column).isNull()) return;
    get(column, value.emplace());
  }
  void get(int column, std::int64_t& value) { value = query_.getColumn(column).getInt64(); }
  void get(int column, double& value) { value = query_.getColumn(column).getDouble(); }
  void get(int column, std::string& value) { value = query_.getColumn(column).getString(); }

  SQLite::Statement query_;
};

}  // namespace ddpprof::store
