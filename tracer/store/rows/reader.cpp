#include "tracer/store/rows/reader.hpp"

#include "tracer/store/schema/schema.hpp"

namespace ddpprof::store {

std::string select_all(std::string_view table, std::size_t columns) {
  std::string sql;
  for (const Column& column : declared_table(table, columns).columns)
    sql += (sql.empty() ? "SELECT \"" : ", \"") + std::string(column.name) + "\"";
  return sql + " FROM \"" + std::string(table) + "\"";
}

}  // namespace ddpprof::store
