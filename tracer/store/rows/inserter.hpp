// Typed bulk inserts of the rows in rows.hpp: one prepared statement per table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>

#include "tracer/store/database.hpp"
#include "tracer/store/rows/rows.hpp"

struct sqlite3_stmt;

namespace ddpprof::store {

// "INSERT INTO table VALUES (…)" with all columns of the schema. Text is bound by reference and must live until step().
class InsertStatement {
 public:
  // Throws std::logic_error if `table` has not `columns` columns in the schema, DatabaseError if SQLite refuses.
  InsertStatement(Database&, std::string_view table, std::size_t columns);

  void bind(int index, std::int64_t value);
  void bind(int index, double value);  // NaN is stored as NULL, because SQLite has no NaN
  void bind(int index, std::string_view text);
  void bind_null(int index);
  std::int64_t step();  // returns the row's id; throws DatabaseError

 private:
  struct Finalize {
    void operator()(sqlite3_stmt*) const;
  };
  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

template <class Row>
class Inserter {
 public:
  explicit Inserter(Database& database) : statement_(database, Row::table, std::tuple_size_v<Fields>) {}

  // Returns the new row's id (rowid). Throws DatabaseError, for example if the disk is full or a key exists already.
  std::int64_t insert(const Row& row) {
    int index = 0;
    std::apply([&](const auto&... field) { (bind(++index, field), ...); }, row.fields());
    return statement_.step();
  }

 private:
  using Fields = decltype(std::declval<const Row&>().fields());

  template <class T>
  void bind(int index, const std::optional<T>& value) {
    value ? bind(index, *value) : statement_.bind_null(index);
  }
  void bind(int index, const PayloadColumn& value) {
    std::visit([&](const auto& v) { bind(index, v); }, value);
  }
  void bind(int index, std::monostate) { statement_.bind_null(index); }
  void bind(int index, RangeKind value) { statement_.bind(index, static_cast<std::int64_t>(value)); }
  void bind(int index, std::int64_t value) { statement_.bind(index, value); }
  void bind(int index, double value) { statement_.bind(index, value); }
  void bind(int index, std::string_view value) { statement_.bind(index, value); }
  void bind(int index, const std::string& value) { statement_.bind(index, std::string_view(value)); }

  InsertStatement statement_;
};

// The table `string`: each distinct text once.
class StringInterner {
 public:
  explicit StringInterner(Database&);  // loads the existing strings
  std::int64_t intern(std::string_view text);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  Inserter<StringRow> inserter_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> ids_;
};

}  // namespace ddpprof::store
