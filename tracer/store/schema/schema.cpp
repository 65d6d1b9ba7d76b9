// Generates the DDL and the documentation from the declarations in schema_tables.cpp.
#include "tracer/store/schema/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace ddpprof::store {
namespace {

// Escapes '|', which would end a table cell.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

const Table& declared_table(std::string_view name, std::size_t columns) {
  const auto declared = tables();
  const auto found = std::ranges::find(declared, name, &Table::name);
  if (found == declared.end() || found->columns.size() != columns)
    throw std::logic_error(fmt::format("row struct of table {} has {} fields; the schema has {} columns", name, columns,
                                       found == declared.end() ? 0 : found->columns.size()));
  return *found;
}

std::string create_tables_sql() {
  std::string sql;
  for (const Table& table : tables()) {
    fmt::format_to(std::back_inserter(sql), "CREATE TABLE \"{}\" (", table.name);
    std::string_view separator = "\n  ";
    for (const Column& column : table.columns) {
      fmt::format_to(std::back_inserter(sql), "{}\"{}\"{}{}", separator, column.name, column.type.empty() ? "" : " ",
                     column.type);
      separator = ",\n  ";
    }
    if (!table.constraints.empty()) fmt::format_to(std::back_inserter(sql), ",\n  {}", table.constraints);
    sql += "\n);\n";
  }
  for (const View& view : views())
    fmt::format_to(std::back_inserter(sql), "CREATE VIEW \"{}\" AS {};\n", view.name, view.select);
  return sql;
}

std::string create_indexes_sql() {
  std::string sql;
  for (const Index& index : indexes())
    fmt::format_to(std::back_inserter(sql), "CREATE INDEX IF NOT EXISTS \"{}\" ON {};\n", index.name, index.on);
  return sql;
}

std::string schema_markdown() {
  std::string text = fmt::format(
      "# The trace database, version {}\n\n"
      "One SQLite file. This page is generated from `tracer/store/schema/schema_tables.cpp`, like the DDL. Regenerate "
      "it with\n"
      "`ddpprof-schema-doc docs/reference/schema.md` (CMake target `ddpprof_schema_doc`).\n\n"
      "`PRAGMA user_version` is {} and `PRAGMA application_id` is 0x44445046 (\"DDPF\"). Times are integers in\n"
      "nanoseconds on the recording process's CLOCK_MONOTONIC unless a column says otherwise; the views convert them\n"
      "to rank 0's clock. Indexes are created after the load.\n\n"
      "The journal is a rollback journal: while no program writes, the database is one file. A file `-journal` exists\n"
      "during a load and after a killed load; the next open then rolls back to the last complete measurement.\n",
      schema_version, schema_version);
  auto out = std::back_inserter(text);
  text += "\n## Tables\n";
  for (const Table& table : tables()) {
    fmt::format_to(out, "\n### {}\n{}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n", table.name,
                   table.doc);
    for (const Column& column : table.columns)
      fmt::format_to(out, "| {} | {} | {} | {} |\n", column.name, column.type.empty() ? "any" : cell(column.type),
                     cell(column.unit), cell(column.doc));
    if (!table.constraints.empty()) fmt::format_to(out, "\n`{}`\n", table.constraints);
  }
  text += "\n## Views\n";
  for (const View& view : views())
    fmt::format_to(out, "\n### {}\n{}\n\n```sql\n{}\n```\n", view.name, view.doc, view.select);
  text += "\n## Indexes\n\n| index | on |\n|---|---|\n";
  for (const Index& index : indexes()) fmt::format_to(out, "| {} | `{}` |\n", index.name, index.on);
  return text;
}

}  // namespace ddpprof::store
