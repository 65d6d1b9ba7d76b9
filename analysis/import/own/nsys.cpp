#include "analysis/import/own/nsys.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/import/own/nsys_queries.hpp"
#include "analysis/import/own/table_loader.hpp"

namespace ddpprof::import {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t known_format = 2;
constexpr const char* part_key = "nsys_part_of";  // as the export reads it: "<identity> <measurements>"
constexpr const char* was_it_edited = "; was it edited? Export the database again";

// Of each of the database's tables of events the export's, which say whose an event is.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> event_tables{
    {{"range", "NVTX_EVENTS"},
     {"kernel", "CUPTI_ACTIVITY_KIND_KERNEL"},
     {"memcpy", "CUPTI_ACTIVITY_KIND_MEMCPY"},
     {"memcpy", "CUPTI_ACTIVITY_KIND_MEMSET"},
     {"api_call", "CUPTI_ACTIVITY_KIND_RUNTIME"}}};

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

  // What the export says of itself.
  std::int64_t fact(const std::string& name) {
    SQLite::Statement row(sql_, "SELECT value FROM DDPPROF_EXPORT WHERE name = ?");
    row.bind(1, name);
    if (!row.executeStep())
      throw OwnExportError(fmt::format("{}: DDPPROF_EXPORT has no row `{}`{}", name_, name, was_it_edited));
    return row.getColumn(0).getInt64();
  }

  void check_rows(std::string_view table, std::int64_t found) {
    const std::int64_t told = fact(fmt::format("rows {}", table));
    if (found == told) return;
    name_lost_shard(table);
    throw OwnExportError(fmt::format("{}: {} rows of table {} (expected {}, as DDPPROF_EXPORT says){}", name_, found,
                                     table, told, was_it_edited));
  }

 private:
  // Rows whose shard is not there are passed over.
  void name_lost_shard(std::string_view table) {
    for (const auto& [ours, theirs] : event_tables) {
      if (ours != table) continue;
      // A range without a shard is one that the export made.
      SQLite::Statement lost(sql_, fmt::format("SELECT rowid, COALESCE(ddpprof_shard, 'NULL') FROM {0} WHERE "
                                               "ddpprof_shard NOT IN (SELECT id FROM DDPPROF_shard){1} ORDER BY rowid",
                                               theirs, ours == "range" ? "" : " OR ddpprof_shard IS NULL"));
      if (lost.executeStep())
        throw OwnExportError(fmt::format("{}, table {}, row {}: ddpprof_shard {} is no row of DDPPROF_shard{}", name_,
                                         theirs, lost.getColumn(0).getInt64(), lost.getColumn(1).getString(),
                                         was_it_edited));
    }
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
    check_belongs(file);
    for (const RawTable& raw : raw_tables()) copy(file, raw.table, raw.select);
    for (const store::Table& table : store::tables()) {
      if (std::ranges::any_of(raw_tables(), [&](const RawTable& raw) { return raw.table == table.name; })) continue;
      std::string columns;
      for (const store::Column& column : table.columns)
        columns += fmt::format("{}\"{}\"", columns.empty() ? "" : ", ", column.name);
      copy(file, table.name, fmt::format("SELECT {} FROM \"DDPPROF_{}\" ORDER BY rowid", columns, table.name));
    }
    for (const char* table : {"DDPPROF_THREAD_ID", "DDPPROF_string"})
      file.check_rows(table, file.sql().execAndGet(fmt::format("SELECT COUNT(*) FROM {}", table)).getInt64());
    ++files_;
  }

  // Of a database of which not all was given: what its exports say of the whole, so that the others can still join.
  void finish() {
    if (static_cast<std::int64_t>(from_.size()) >= measurements_) return;
    SQLite::Statement row(database_.sql(), "INSERT INTO meta (key, value) VALUES (?, ?)");
    row.bind(1, part_key);
    row.bind(2, fmt::format("{} {}", identity_, measurements_));
    row.exec();
  }

  Restored result() const { return {rows_, static_cast<std::int64_t>(tables_.size()), {}}; }

 private:
  void check_belongs(File& file) {
    const std::int64_t identity = file.fact("database");
    if (files_ == 0) {
      first_ = file.name();
      identity_ = identity;
      measurements_ = file.fact("measurements");
    } else if (identity != identity_) {
      throw OwnExportError(
          fmt::format("{} and {} are exports of different databases: import each by itself", first_, file.name()));
    }
    SQLite::Statement measurement(file.sql(), "SELECT id FROM DDPPROF_measurement ORDER BY rowid");
    while (measurement.executeStep()) {
      const std::int64_t id = measurement.getColumn(0).getInt64();
      if (const auto [before, is_new] = from_.emplace(id, file.name()); !is_new)
        throw OwnExportError(
            fmt::format("{}: holds measurement {}, as {} does: the same file twice, or a copy; give "
                        "it once",
                        file.name(), id, before->second));
    }
  }

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
      if (const auto* key = std::get_if<std::string_view>(&row.front()); table == "meta" && key && *key == part_key)
        throw OwnExportError(
            fmt::format("{}key {} is a row that exports leave out{}", where.text(), part_key, was_it_edited));
      if (is_shared(table, row, columns, where)) continue;
      loader.insert(row, where);
    }
    file.check_rows(table, static_cast<std::int64_t>(where.at));
    rows_ += loader.rows();
    if (loader.rows() > 0) tables_.insert(std::string(table));
  }

  store::Database& database_;
  std::int64_t rows_ = 0;
  int files_ = 0;
  std::string first_;  // file
  std::int64_t identity_ = 0, measurements_ = 0;
  std::map<std::int64_t, std::string> from_;  // the file of each measurement
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
    throw OwnExportError(fmt::format("{}: {}{}", files.front().string(), dangling->text(), was_it_edited));
  restoring.finish();
  const Restored restored = restoring.result();
  load.commit();
  return restored;
}

}  // namespace ddpprof::import
