// The CSV export: one file a table.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <cctype>
#include <system_error>

#include "analysis/export/export.hpp"
#include "analysis/export/output_file.hpp"
#include "analysis/report/csv.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::export_ {
namespace {

// "duration_ns" says its unit already; throughput in samples/s becomes "throughput_samples_per_s".
std::string heading(const store::Column& column) {
  std::string unit;
  for (const char c : column.unit) {
    if (c == '/') {
      unit += "_per_";
    } else {
      unit += c == '-' || c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  std::string name(column.name);
  if (unit.empty() || ("_" + name + "_").find("_" + unit + "_") != std::string::npos) return name;
  return name + "_" + unit;
}

std::string field(const SQLite::Column& value) {
  if (value.isNull()) return "";
  if (value.isInteger()) return std::to_string(value.getInt64());
  if (value.isFloat()) return fmt::format("{}", value.getDouble());
  const std::string text = value.getString();
  return text.empty() ? "\"\"" : report::csv_field(text);
}

std::int64_t export_table(SQLite::Database& db, const store::Table& table, const std::filesystem::path& folder) {
  std::string heads, columns;
  for (const store::Column& column : table.columns) {
    heads += (heads.empty() ? "" : ",") + heading(column);
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
      line += field(query.getColumn(i));
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
  std::filesystem::create_directories(folder, error);
  if (error) throw ExportError(folder.string() + ": cannot be made: " + error.message() + "; give a folder");
  try {
    std::int64_t rows = 0;
    for (const store::Table& table : store::tables()) rows += export_table(database.sql(), table, folder);
    return rows;
  } catch (const SQLite::Exception& exception) {
    throw store::translate(exception, database.path());
  }
}

}  // namespace ddpprof::export_
