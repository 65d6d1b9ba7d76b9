// Writes the tables DDPPROF_… of an Nsight-format export.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/export/nsys/nsys_about.hpp"
#include "tracer/store/schema/schema.hpp"

namespace ddpprof::export_ {
namespace {

// Tables whose rows the export writes into tables of Nsight Systems.
constexpr std::array<std::string_view, 5> in_nsight_tables{"string", "range", "kernel", "memcpy", "api_call"};

bool has(const store::Table& table, std::string_view column) {
  return std::ranges::find(table.columns, column, &store::Column::name) != table.columns.end();
}

// Returns the SQL condition for the measurement's rows.
std::string condition(const store::Table& table, std::int64_t measurement, bool sole) {
  if (table.name == "measurement") return fmt::format("id = {}", measurement);
  if (has(table, "measurement_id")) return fmt::format("(measurement_id = {} OR measurement_id IS NULL)", measurement);
  if (has(table, "shard_id")) return "shard_id IN (SELECT shard_id FROM place)";
  if (has(table, "step_id"))
    return "EXISTS (SELECT 1 FROM source.step s JOIN place p ON p.shard_id = s.shard_id WHERE s.id = t.step_id)";
  if (table.name == "meta") return "1";
  if (sole) return "1";
  if (table.name == "scenario")
    return fmt::format("id = (SELECT scenario_id FROM source.measurement WHERE id = {})", measurement);
  return "0";  // fits, predictions and learning rates rest on all measurements
}

// Rows without a measurement come before the rows of this one, as after an import of several files.
std::string order(const store::Table& table, bool sole) {
  return !sole && table.name == "diagnostic" ? "t.measurement_id IS NOT NULL, t.rowid" : "t.rowid";
}

void keep(NsysFile& file, const store::Table& table, const std::string& where, const std::string& by) {
  std::string declared, selected;
  for (const store::Column& column : table.columns) {
    const std::string_view separator = declared.empty() ? "" : ", ";
    declared += fmt::format("{}\"{}\" {}", separator, column.name, column.type.substr(0, column.type.find(' ')));
    selected += fmt::format("{}kept(t.\"{}\")", separator, column.name);
  }
  file.sql().exec(fmt::format("CREATE TABLE \"DDPPROF_{}\" ({})", table.name, declared));
  file.sql().exec(fmt::format("INSERT INTO \"DDPPROF_{0}\" SELECT {1} FROM source.\"{0}\" t WHERE {2} ORDER BY {3}",
                              table.name, selected, where, by));
}

// FNV-1a, 64 bits, of a row's values with their types: equal on every machine.
void hash_row(SQLite::Statement& row, std::uint64_t& hash) {
  const auto add = [&](const void* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3ULL;
  };
  for (int i = 0; i < row.getColumnCount(); ++i) {
    const SQLite::Column value = row.getColumn(i);
    std::string text;
    if (value.isInteger())
      text = fmt::format("i{}", value.getInt64());
    else if (value.isFloat())
      text = fmt::format("r{:a}", value.getDouble());
    else if (!value.isNull())
      text = "t" + value.getString();
    add(text.data(), text.size());
    add("", 1);  // the end of the text
  }
}

// Identifies the database by its program, its measurements and its ranks, and writes its number of measurements.
void write_identity(SQLite::Database& sql) {
  SQLite::Statement insert(sql, "INSERT INTO DDPPROF_EXPORT VALUES ('database', ?), ('measurements', ?)");
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char* query : {"SELECT * FROM source.meta ORDER BY key", "SELECT * FROM source.measurement ORDER BY id",
                            "SELECT * FROM source.shard ORDER BY id"}) {
    SQLite::Statement rows(sql, query);
    while (rows.executeStep()) hash_row(rows, hash);
  }
  insert.bind(1, static_cast<std::int64_t>(hash));
  insert.bind(2, sql.execAndGet("SELECT COUNT(*) FROM source.measurement").getInt64());
  insert.exec();
}

// Counts the rows of each table in this file, and the rows of the two helper tables.
void count_rows(SQLite::Database& sql, std::int64_t last_string) {
  const auto count = [&](std::string_view name, const std::string& of) {
    sql.exec(fmt::format("INSERT INTO DDPPROF_EXPORT SELECT 'rows {}', COUNT(*) FROM {}", name, of));
  };
  for (const store::Table& table : store::tables()) {
    if (table.name == "string")
      count(table.name, fmt::format("StringIds WHERE id <= {}", last_string));
    else if (table.name == "range")
      count(table.name, "NVTX_EVENTS WHERE ddpprof_shard NOT NULL");
    else if (table.name == "kernel")
      count(table.name, "CUPTI_ACTIVITY_KIND_KERNEL");
    else if (table.name == "memcpy")
      count(table.name,
            "(SELECT 1 FROM CUPTI_ACTIVITY_KIND_MEMCPY UNION ALL SELECT 1 FROM CUPTI_ACTIVITY_KIND_MEMSET)");
    else if (table.name == "api_call")
      count(table.name, "CUPTI_ACTIVITY_KIND_RUNTIME");
    else
      count(table.name, fmt::format("\"DDPPROF_{}\"", table.name));
  }
  count("DDPPROF_THREAD_ID", "DDPPROF_THREAD_ID");
  count("DDPPROF_string", "DDPPROF_string");
}

}  // namespace

void keep_rows(NsysFile& file, std::int64_t measurement, bool sole, std::int64_t base_ns, std::int64_t last_string) {
  SQLite::Database& sql = file.sql();
  sql.exec("CREATE TABLE DDPPROF_EXPORT (name TEXT, value INTEGER)");
  sql.exec(
      fmt::format("INSERT INTO DDPPROF_EXPORT VALUES ('format', {}), ('schema_version', {}), ('base_ns', {}), "
                  "('last_string', {})",
                  nsys_format, store::schema_version, base_ns, last_string));
  write_identity(sql);
  sql.exec(
      "CREATE TABLE DDPPROF_RANK (globalPid INTEGER, rank INTEGER, shard_id INTEGER);"
      "INSERT INTO DDPPROF_RANK SELECT global_pid, rank, shard_id FROM place ORDER BY rank, shard_id");
  sql.exec(
      "CREATE TABLE DDPPROF_THREAD_ID (global_tid INTEGER PRIMARY KEY, tid INTEGER);"
      "INSERT INTO DDPPROF_THREAD_ID SELECT DISTINCT global_tid, tid FROM thread_of "
      "WHERE global_tid & 0xFFFFFF <> tid ORDER BY global_tid;"
      "CREATE TABLE DDPPROF_string (id INTEGER PRIMARY KEY, value BLOB);"
      "INSERT INTO DDPPROF_string SELECT s.id, CAST(s.value AS BLOB) FROM used_string u "
      "CROSS JOIN source.string s ON s.id = u.id WHERE TYPEOF(kept(s.value)) = 'blob' ORDER BY s.id");
  for (const store::Table& table : store::tables())
    if (std::ranges::find(in_nsight_tables, table.name) == in_nsight_tables.end())
      keep(file, table, condition(table, measurement, sole), order(table, sole));
  count_rows(sql, last_string);
}

}  // namespace ddpprof::export_
