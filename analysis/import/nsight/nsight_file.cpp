#include "analysis/import/nsight/nsight_file.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace ddpprof::import {
namespace {

namespace fs = std::filesystem;

// Returns the file as an SQLite URI (https://www.sqlite.org/uri.html), with special characters escaped.
std::string uri_of(const fs::path& path, std::string_view options) {
  std::string uri = "file:";
  for (const char c : fs::absolute(path).string()) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-' || c == '_')
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + "?" + std::string(options);
}

bool has_content(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  return !error && bytes > 0;
}

// Checks the file's size against its header (https://www.sqlite.org/fileformat.html, section 1.3): the page size is at
// 16, the number of pages at 28. The number is valid if the change counter at 24 equals the number at 92.
bool is_truncated(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw NotAnExport(std::string("it cannot be opened: ") + std::strerror(errno));
  std::array<unsigned char, 100> head{};
  file.read(reinterpret_cast<char*>(head.data()), head.size());
  if (file.gcount() == 0) throw NotAnExport("the file is empty");
  if (std::memcmp(head.data(), "SQLite format 3", 16) != 0) throw NotAnExport("it is not an SQLite database");
  if (file.gcount() < static_cast<std::streamsize>(head.size()))
    throw NotAnExport(fmt::format("it is cut off after {} bytes", file.gcount()));
  const auto number = [&](std::size_t at) {
    return std::uint64_t{head[at]} << 24 | std::uint64_t{head[at + 1]} << 16 | std::uint64_t{head[at + 2]} << 8 |
           head[at + 3];
  };
  const std::uint64_t stored = std::uint64_t{head[16]} << 8 | head[17];
  const std::uint64_t page_bytes = stored == 1 ? 65536 : stored;
  std::error_code error;
  return number(24) == number(92) && fs::file_size(path, error) < page_bytes * number(28);
}

}  // namespace

NsightFile::NsightFile(const fs::path& path) : truncated_(is_truncated(path)) {
  // "immutable" avoids locks and a journal beside the file, which may be on a read-only medium. If a log lies beside
  // the file, the file alone is not the whole database, and SQLite has to read both.
  const bool with_log = has_content(path.string() + "-wal") || has_content(path.string() + "-journal");
  try {
    // Only one thread reads, so SQLite need not lock for every column.
    sql_ = std::make_unique<SQLite::Database>(uri_of(path, with_log ? "mode=ro" : "immutable=1"),
                                              SQLite::OPEN_READONLY | SQLite::OPEN_URI | SQLite::OPEN_NOMUTEX, 5000);
    // Otherwise SQLite rejects every page of a file that is too short.
    if (truncated_) sql_->exec("PRAGMA writable_schema = ON");
    try {
      read_schema();
    } catch (const SQLite::Exception& failure) {
      read_what_is_left(failure.what());
    }
  } catch (const SQLite::Exception& failure) {
    if (with_log)
      throw NotAnExport(
          fmt::format("SQLite cannot read it together with the log file beside it ({}); wait until the program that "
                      "writes it ends, or export it again",
                      failure.what()));
    throw NotAnExport(fmt::format("SQLite cannot read it: {}", failure.what()));
  }
  if (has("StringIds"))
    for (const auto& [name, table] : tables_)
      if (name.starts_with("CUPTI_ACTIVITY_KIND_") || name.starts_with("TARGET_INFO_") || name == "NVTX_EVENTS" ||
          name == "META_DATA_EXPORT")
        return;
  if (schema_damage_) throw NotAnExport(fmt::format("SQLite cannot read it: {}", *schema_damage_));
  throw NotAnExport(
      "it is an SQLite database, but not an export of Nsight Systems (StringIds or the tables of events are missing)");
}

void NsightFile::read_schema() {
  std::vector<std::string> names;
  SQLite::Statement list(*sql_, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  try {
    while (list.executeStep()) names.push_back(list.getColumn(0).getString());
  } catch (const SQLite::Exception&) {
    if (!schema_damage_) throw;
  }
  for (const std::string& name : names) {
    Table& table = tables_[name];
    SQLite::Statement columns(*sql_, "SELECT name, pk, type FROM pragma_table_info(?)");
    columns.bind(1, name);
    while (columns.executeStep()) {
      const std::string column = columns.getColumn(0).getString();
      // Only this type makes the key the rowid (https://www.sqlite.org/rowidtable.html).
      if (columns.getColumn(1).getInt() == 1 && columns.getColumn(2).getString() == "INTEGER") table.key = column;
      table.columns.insert(column);
    }
  }
}

// With this setting SQLite keeps the tables that it read before the damage: the statement that meets the damage fails,
// the next statements use these tables (https://www.sqlite.org/pragma.html#pragma_writable_schema). Nothing is written.
void NsightFile::read_what_is_left(std::string_view why) {
  schema_damage_ = std::string(why);
  tables_.clear();
  sql_->exec("PRAGMA writable_schema = ON");
  try {
    sql_->exec("SELECT count(*) FROM sqlite_master");
  } catch (const SQLite::Exception&) {
  }
  try {
    read_schema();
  } catch (const SQLite::Exception&) {
  }
}

bool NsightFile::has(std::string_view table, std::string_view column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.columns.contains(column);
}

bool NsightFile::is_key(std::string_view table, std::string_view column) const {
  const auto found = tables_.find(table);
  return found != tables_.end() && found->second.key == column;
}

void Scan::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Scan::Scan(NsightFile& file, std::string_view table, std::span<const std::string_view> columns) : sql_(file.sql()) {
  std::string text = "SELECT rowid";
  for (const std::string_view column : columns)
    text += file.has(table, column) ? fmt::format(", \"{}\"", column) : ", NULL";
  text += fmt::format(" FROM \"{}\"", table);
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(sql_.getHandle(), text.c_str(), -1, &statement, nullptr) != SQLITE_OK)
    problem_ = sqlite3_errmsg(sql_.getHandle());
  statement_.reset(statement);
}

bool Scan::next() {
  if (problem_ || !statement_) return false;
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) {
    ++rows_;
    return true;
  }
  if (result != SQLITE_DONE) problem_ = sqlite3_errmsg(sql_.getHandle());
  statement_.reset();
  return false;
}

std::int64_t Scan::rowid() const { return sqlite3_column_int64(statement_.get(), 0); }

bool Scan::is_null(int column) const { return sqlite3_column_type(statement_.get(), column + 1) == SQLITE_NULL; }

std::optional<std::int64_t> Scan::integer(int column) const {
  if (sqlite3_column_type(statement_.get(), column + 1) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_.get(), column + 1);
}

std::string_view Scan::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column + 1);
  if (!text) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column + 1))};
}

std::span<const std::byte> Scan::bytes(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column + 1);
  if (!bytes) return {};
  return {static_cast<const std::byte*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column + 1))};
}

}  // namespace ddpprof::import
