#include "tracer/store/rows/inserter.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "tracer/store/rows/queries.hpp"

namespace ddpprof::store {

void InsertStatement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

InsertStatement::InsertStatement(Database& database, std::string_view table, std::size_t columns)
    : database_(&database) {
  declared_table(table, columns);
  std::string sql = fmt::format("INSERT INTO \"{}\" VALUES (?", table);
  for (std::size_t i = 1; i < columns; ++i) sql += ",?";
  sql += ")";
  sqlite3* handle = database.sql().getHandle();
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v3(handle, sql.c_str(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                        &statement, nullptr);
  statement_.reset(statement);
  if (result != SQLITE_OK) throw translate(result, sqlite3_errmsg(handle), database.path());
}

// A bind fails only for a wrong index (checked above) or without memory, which step() reports, too.
void InsertStatement::bind(int index, std::int64_t value) { sqlite3_bind_int64(statement_.get(), index, value); }
void InsertStatement::bind(int index, double value) { sqlite3_bind_double(statement_.get(), index, value); }
void InsertStatement::bind(int index, std::string_view text) {
  // An empty view may have a null pointer, which would be bound as NULL.
  sqlite3_bind_text64(statement_.get(), index, text.data() ? text.data() : "", text.size(), SQLITE_STATIC, SQLITE_UTF8);
}
void InsertStatement::bind_null(int index) { sqlite3_bind_null(statement_.get(), index); }

std::int64_t InsertStatement::step() {
  const int result = sqlite3_step(statement_.get());
  sqlite3* handle = sqlite3_db_handle(statement_.get());
  if (result != SQLITE_DONE) {
    const std::string message = sqlite3_errmsg(handle);
    const int extended = sqlite3_extended_errcode(handle);
    sqlite3_reset(statement_.get());
    throw translate(extended, message, database_->path());
  }
  sqlite3_reset(statement_.get());
  return sqlite3_last_insert_rowid(handle);
}

StringInterner::StringInterner(Database& database) : inserter_(database) {
  for (auto& [id, text] : read_strings(database.sql())) ids_.emplace(std::move(text), id);
}

std::int64_t StringInterner::intern(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
  const std::int64_t id = inserter_.insert(StringRow{{}, text});
  ids_.emplace(std::string(text), id);
  return id;
}

}  // namespace ddpprof::store
