// A folder of CSV tables back into a database.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "analysis/export/csv_format.hpp"
#include "analysis/import/own/csv_reader.hpp"
#include "analysis/import/own/restore.hpp"
#include "analysis/import/own/table_loader.hpp"

namespace ddpprof::import {
namespace {

namespace fs = std::filesystem;

template <class Number>
bool parse(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

// What is no number stays a text, which the loader refuses in a column of numbers.
Cell cell_of(const CsvField& field, CellType type) {
  if (field.text.empty() && !field.quoted) return {};
  const std::string_view text = field.text;
  if (type == CellType::text || (type == CellType::any && field.quoted)) return text;
  std::int64_t whole = 0;
  if (type != CellType::real && parse(text, whole)) return whole;
  double real = 0.0;
  if (type != CellType::whole && parse(text, real)) return real;
  return text;
}

std::vector<std::string> column_names(const store::Table& table, const std::vector<CsvField>& headings) {
  std::vector<std::string> names;
  for (const CsvField& heading : headings) {
    const auto found = std::ranges::find_if(
        table.columns, [&](const store::Column& column) { return export_::csv_heading(column) == heading.text; });
    names.push_back(found == table.columns.end() ? heading.text : std::string(found->name));
  }
  return names;
}

// The line on which a column first has this value.
std::string line_of(const fs::path& file, const Dangling& dangling) {
  CsvReader reader(file);
  std::vector<CsvField> record;
  reader.next(record);
  const std::vector<std::string> names = column_names(*find_table(dangling.table), record);
  const auto column = static_cast<std::size_t>(std::ranges::find(names, dangling.column) - names.begin());
  while (reader.next(record)) {
    std::int64_t value = 0;
    if (column < record.size() && parse(std::string_view(record[column].text), value) && value == dangling.value)
      return reader.place().text();
  }
  return file.string() + ": ";
}

fs::path file_of(const fs::path& folder, std::string_view table) { return folder / (std::string(table) + ".csv"); }

std::int64_t restore_table(store::Database& database, const store::Table& table, const fs::path& folder) {
  const fs::path file = file_of(folder, table.name);
  std::error_code error;
  if (!fs::exists(file, error))
    throw OwnExportError(
        fmt::format("{}: no such file (expected one of each table of schema version {}); a file was "
                    "removed, or an older version of ddpprof wrote the folder: export the database "
                    "again with this one",
                    file.string(), store::schema_version));
  CsvReader reader(file);
  std::vector<CsvField> record;
  if (!reader.next(record))
    throw OwnExportError(file.string() + ": empty (expected a line of headings); export the database again");
  TableLoader loader(database, table.name, column_names(table, record), reader.place());
  std::vector<Cell> cells;
  while (reader.next(record)) {
    cells.clear();
    for (std::size_t i = 0; i < record.size(); ++i)
      cells.push_back(i < table.columns.size() ? cell_of(record[i], type_of(loader.column(i))) : Cell{});
    loader.insert(cells, reader.place());
  }
  return loader.rows();
}

}  // namespace

Restored restore_csv(store::Database& database, const fs::path& folder) {
  Restored restored;
  store::BulkLoad load(database);
  for (const store::Table& table : store::tables()) {
    const std::int64_t rows = restore_table(database, table, folder);
    restored.rows += rows;
    if (rows > 0) ++restored.tables;
  }
  if (const auto dangling = first_dangling(database))
    throw OwnExportError(line_of(file_of(folder, dangling->table), *dangling) + dangling->text() +
                         "; a row was removed or changed: export the database again");
  load.commit();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool table = name.ends_with(".csv") && find_table(std::string_view(name).substr(0, name.size() - 4));
    if (!table) restored.left_out.push_back(name);
  }
  std::ranges::sort(restored.left_out);
  return restored;
}

}  // namespace ddpprof::import
