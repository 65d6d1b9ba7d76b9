#include "analysis/import/own/nsys.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/import/own/table_loader.hpp"

namespace ddpprof::import {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t known_format = 1;

struct RawTable {
  std::string_view table;
  std::string select;  // its columns are named as the table's
};

// A time as it was recorded: what is counted from the export's first event on rank 0's clock goes back to the shard's.
std::string recorded(std::string_view alias, std::string_view column, std::string_view kept) {
  return fmt::format(
      "COALESCE({0}.{2}, {0}.{1} - p.clock_offset_ns + (SELECT value FROM DDPPROF_EXPORT WHERE name = 'base_ns'))",
      alias, column, kept);
}

std::string times(std::string_view alias) {
  return recorded(alias, "start", "ddpprof_start_ns") + " AS start_ns, " + recorded(alias, "end", "ddpprof_end_ns") +
         " AS end_ns";
}

std::string place(std::string_view alias) {
  return fmt::format("CROSS JOIN DDPPROF_shard p ON p.id = {}.ddpprof_shard", alias);
}

// CUpti_ActivityMemcpyKind, as the trace database names them.
constexpr std::array<std::string_view, 11> copy_kinds{
    "unknown",         "host_to_device",  "device_to_host",   "host_to_array", "array_to_host", "array_to_array",
    "array_to_device", "device_to_array", "device_to_device", "host_to_host",  "peer"};

std::vector<RawTable> raw_tables() {
  std::string kinds;
  for (std::size_t i = 0; i < copy_kinds.size(); ++i) kinds += fmt::format(" WHEN {} THEN '{}'", i, copy_kinds[i]);
  const auto copies = [](std::string_view table, std::string_view kind) {
    return fmt::format(
        "SELECT c.ddpprof_shard AS shard_id, {} AS kind, c.deviceId AS device, c.streamId AS stream, "
        "COALESCE(c.correlationId, -1) AS correlation, {}, c.bytes AS bytes, c.ddpprof_row AS place FROM {} c {}",
        kind, times("c"), table, place("c"));
  };
  return {
      {"string",
       "SELECT s.id AS id, COALESCE(d.value, s.value) AS value FROM DDPPROF_EXPORT o CROSS JOIN StringIds s "
       "ON s.id <= o.value LEFT JOIN DDPPROF_string d ON d.id = s.id WHERE o.name = 'last_string' ORDER BY s.id"},
      {"range",
       fmt::format(
           "SELECT e.ddpprof_shard AS shard_id, COALESCE(i.tid, e.globalTid & 0xFFFFFF) AS tid, "
           "e.textId AS name_id, e.ddpprof_domain AS domain_id, "
           "CASE e.eventType WHEN 34 THEN 2 WHEN 60 THEN 1 ELSE 0 END AS kind, "
           "COALESCE(e.ddpprof_depth, -1) AS depth, {0} AS start_ns, CASE WHEN e.ddpprof_open = 1 THEN NULL WHEN "
           "e.eventType = 34 THEN "
           "COALESCE(e.ddpprof_end_ns, {0}) WHEN e.end IS NULL THEN NULL ELSE {1} END AS end_ns, "
           "COALESCE(e.ddpprof_payload, e.jsonText, e.int64Value, e.doubleValue) AS payload "
           "FROM NVTX_EVENTS e {2} LEFT JOIN DDPPROF_THREAD_ID i ON i.global_tid = e.globalTid ORDER BY e.rowid",
           recorded("e", "start", "ddpprof_start_ns"), recorded("e", "end", "ddpprof_end_ns"), place("e"))},
      {"kernel",
       fmt::format("SELECT k.ddpprof_shard AS shard_id, COALESCE(k.mangledName, k.demangledName) AS name_id, "
                   "k.deviceId AS device, k.streamId AS stream, COALESCE(k.correlationId, -1) AS correlation, {}, "
                   "k.gridX * k.gridY * k.gridZ AS grid, k.blockX * k.blockY * k.blockZ AS block, "
                   "k.registersPerThread AS registers_per_thread, "
                   "k.staticSharedMemory + k.dynamicSharedMemory AS shared_bytes "
                   "FROM CUPTI_ACTIVITY_KIND_KERNEL k {} ORDER BY k.rowid",
                   times("k"), place("k"))},
      {"memcpy", fmt::format("SELECT shard_id, kind, device, stream, correlation, start_ns, end_ns, bytes FROM "
                             "({} UNION ALL {}) ORDER BY place",
                             copies("CUPTI_ACTIVITY_KIND_MEMCPY",
                                    fmt::format("COALESCE(c.ddpprof_kind, CASE c.copyKind{} END)", kinds)),
                             copies("CUPTI_ACTIVITY_KIND_MEMSET", "'memset'"))},
      {"api_call",
       fmt::format("SELECT a.ddpprof_shard AS shard_id, COALESCE(a.ddpprof_domain, CASE a.eventClass WHEN 1 THEN "
                   "'driver' ELSE 'runtime' END) AS "
                   "domain, COALESCE(a.ddpprof_cbid, 0) AS cbid, COALESCE(i.tid, a.globalTid & 0xFFFFFF) AS tid, "
                   "COALESCE(a.correlationId, -1) AS correlation, {}, "
                   "CASE WHEN a.ddpprof_unnamed IS NULL THEN a.nameId END AS name_id "
                   "FROM CUPTI_ACTIVITY_KIND_RUNTIME a {} LEFT JOIN DDPPROF_THREAD_ID i "
                   "ON i.global_tid = a.globalTid ORDER BY a.rowid",
                   times("a"), place("a"))},
  };
}

class File {
 public:
  explicit File(const fs::path& path) : name_(path.string()), sql_(path.string(), SQLite::OPEN_READONLY, 5000) {
    if (!sql_.tableExists("DDPPROF_EXPORT"))
      throw OwnExportError(name_ +
                           ": not what 'ddpprof export --format nsys' writes (table DDPPROF_EXPORT is missing)");
    if (const std::int64_t format = fact("format"); format != known_format)
      throw OwnExportError(
          fmt::format("{}: format {} of this program's exports, it knows {}; use the ddpprof that "
                      "wrote it",
                      name_, format, known_format));
    if (const std::int64_t version = fact("schema_version"); version != store::schema_version)
      throw OwnExportError(
          fmt::format("{}: holds a database of schema version {}, this program's is {}; export the "
                      "database again with this ddpprof",
                      name_, version, store::schema_version));
  }

  const std::string& name() const { return name_; }
  SQLite::Database& sql() { return sql_; }

 private:
  std::int64_t fact(const char* name) {
    SQLite::Statement row(sql_, "SELECT value FROM DDPPROF_EXPORT WHERE name = ?");
    row.bind(1, name);
    return row.executeStep() ? row.getColumn(0).getInt64() : -1;
  }

  std::string name_;
  SQLite::Database sql_;
};

Cell cell_of(const SQLite::Column& value) {
  if (value.isNull()) return std::monostate{};
  if (value.isInteger()) return value.getInt64();
  if (value.isFloat()) return value.getDouble();
  // A text that is no UTF-8 is kept as a blob.
  const auto* bytes = static_cast<const char*>(value.getBlob());
  return std::string_view(bytes ? bytes : "", static_cast<std::size_t>(value.getBytes()));
}

class Restoring {
 public:
  explicit Restoring(store::Database& database) : database_(database) {}

  void take(File& file) {
    for (const RawTable& raw : raw_tables()) copy(file, raw.table, raw.select);
    for (const store::Table& table : store::tables()) {
      if (std::ranges::any_of(raw_tables(), [&](const RawTable& raw) { return raw.table == table.name; })) continue;
      std::string columns;
      for (const store::Column& column : table.columns)
        columns += fmt::format("{}\"{}\"", columns.empty() ? "" : ", ", column.name);
      copy(file, table.name, fmt::format("SELECT {} FROM \"DDPPROF_{}\" ORDER BY rowid", columns, table.name));
    }
    ++files_;
  }

  Restored result() const { return {rows_, static_cast<std::int64_t>(tables_.size()), {}}; }

 private:
  // Rows that are of no measurement stand in each file of a database; the first one's are there already.
  bool is_shared(std::string_view table, const std::vector<Cell>& row, const std::vector<std::string>& columns,
                 const Place& where) {
    if (files_ == 0) return false;
    if (table == "diagnostic") return std::holds_alternative<std::monostate>(row.front());
    if (table != "meta" && table != "scenario" && table != "string") return false;
    std::string same;
    for (std::size_t i = 0; i < columns.size(); ++i)
      same += fmt::format("{}\"{}\" IS ?{}", i == 0 ? "" : " AND ", columns[i], i + 1);
    SQLite::Statement find(database_.sql(),
                           fmt::format("SELECT {} FROM \"{}\" WHERE \"{}\" IS ?1", same, table, columns.front()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      const int index = static_cast<int>(i) + 1;
      if (const auto* whole = std::get_if<std::int64_t>(&row[i])) find.bind(index, *whole);
      if (const auto* text = std::get_if<std::string_view>(&row[i])) find.bind(index, std::string(*text));
    }
    if (!find.executeStep()) return false;
    if (find.getColumn(0).getInt() == 0)
      throw OwnExportError(
          fmt::format("{}a row of table {} is another than in the files before; they are exports of "
                      "different databases: import each by itself",
                      where.text(), table));
    return true;
  }

  void copy(File& file, std::string_view table, const std::string& select) {
    SQLite::Statement query(file.sql(), select);
    std::vector<std::string> columns;
    for (int i = 0; i < query.getColumnCount(); ++i) columns.emplace_back(query.getColumnName(i));
    Place where{file.name(), "row", 0};
    TableLoader loader(database_, table, columns, where);
    std::vector<Cell> row(columns.size());
    const std::string unit = fmt::format("table {}, row", table);
    where.unit = unit;
    while (query.executeStep()) {
      ++where.at;
      for (int i = 0; i < query.getColumnCount(); ++i) row[static_cast<std::size_t>(i)] = cell_of(query.getColumn(i));
      if (is_shared(table, row, columns, where)) continue;
      loader.insert(row, where);
    }
    rows_ += loader.rows();
    if (loader.rows() > 0) tables_.insert(std::string(table));
  }

  store::Database& database_;
  std::int64_t rows_ = 0;
  int files_ = 0;
  std::set<std::string> tables_;
};

}  // namespace

bool is_own_nsys_export(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  try {
    return SQLite::Database(path.string(), SQLite::OPEN_READONLY, 5000).tableExists("DDPPROF_EXPORT");
  } catch (const SQLite::Exception&) {
    return false;  // no database, or a damaged one: whoever reads it says so
  }
}

Restored restore_nsys(store::Database& database, std::span<const fs::path> files) {
  store::BulkLoad load(database);
  Restoring restoring(database);
  for (const fs::path& path : files) {
    try {
      File file(path);
      restoring.take(file);
    } catch (const SQLite::Exception& error) {
      throw OwnExportError(fmt::format("{}: cannot be read as an export of ddpprof: {}; export the database again",
                                       path.string(), error.what()));
    }
  }
  if (const auto dangling = first_dangling(database))
    throw OwnExportError(
        fmt::format("{}: {}; was it edited? Export the database again", files.front().string(), dangling->text()));
  const Restored restored = restoring.result();
  load.commit();
  return restored;
}

}  // namespace ddpprof::import
