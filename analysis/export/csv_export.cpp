// Writes the CSV export: one file per table.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <system_error>

#include "analysis/export/csv_format.hpp"
#include "analysis/export/export.hpp"
#include "analysis/export/output_file.hpp"
#include "analysis/report/core/csv.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::export_ {
namespace {

// In a column of any type (range.payload) the field shows the type: a text is always quoted, and a real number that is
// whole has a decimal point.
std::string field(const SQLite::Column& value, bool any_type) {
  if (value.isNull()) return "";
  if (value.isInteger()) return std::to_string(value.getInt64());
  if (value.isFloat()) {
    std::string number = fmt::format("{}", value.getDouble());
    if (any_type && number.find_first_not_of("-0123456789") == std::string::npos) number += ".0";
    return number;
  }
  const std::string text = value.getString();
  const std::string plain = report::csv_field(text);
  return text.empty() || (any_type && plain.size() == text.size()) ? '"' + text + '"' : plain;
}

std::int64_t export_table(SQLite::Database& db, const store::Table& table, const std::filesystem::path& folder) {
  std::string heads, columns;
  for (const store::Column& column : table.columns) {
    heads += (heads.empty() ? "" : ",") + csv_heading(column);
    columns += (columns.empty() ? "\"" : ", \"") + std::string(column.name) + "\"";
  }
  OutputFile file(folder / (std::string(table.name) + ".csv"));
  file.write(heads + "\r\n");
  SQLite::Statement query(db, "SELECT " + columns + " FROM \"" + std::string(table.name) + "\" ORDER BY rowid");
  std::int64_t rows = 0;
  std::string line;
  while (query.executeStep()) {
    line.clear();
    for (int i = 0; i < query.getColumnCount(); ++i) {
      if (i > 0) line += ',';
      line += field(query.getColumn(i), table.columns[static_cast<std::size_t>(i)].type.empty());
    }
    file.write(line += "\r\n");
    ++rows;
  }
  file.finish();
  return rows;
}

}  // namespace

std::int64_t export_csv(store::Database& database, const std::filesystem::path& folder) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(folder, error);
  if (error) throw ExportError(folder.string() + ": cannot be made: " + error.message() + "; give a folder");
  // A new folder with some of the tables would look like a complete export.
  const auto remove_new_folder = [&] {
    if (!made) return;
    for (const store::Table& table : store::tables())
      std::filesystem::remove(folder / (std::string(table.name) + ".csv"), error);
    std::filesystem::remove(folder, error);
  };
  try {
    std::int64_t rows = 0;
    for (const store::Table& table : store::tables()) rows += export_table(database.sql(), table, folder);
    return rows;
  } catch (const SQLite::Exception& exception) {
    remove_new_folder();
    throw store::translate(exception, database.path());
  } catch (const ExportError&) {
    remove_new_folder();
    throw;
  }
}

}  // namespace ddpprof::export_
