// Nsight Systems exports with valid tables and any rows: each input is rows for the tables.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/nsight_checks.hpp"
#include "tests/fuzz/sql_values.hpp"

using namespace ddpprof;

namespace {

// The tables of an Nsight Systems version of 2023 or later.
constexpr std::array tables{
    "StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
    "CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId "
    "INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, blockX INTEGER, graphNodeId "
    "INTEGER)",
    "CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId "
    "INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER)",
    "CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId "
    "INTEGER)",
    "NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, text TEXT, globalTid INTEGER, "
    "endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT)",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER, flags INTEGER, type INTEGER, name "
    "TEXT, description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER)",
    "NVTX_PAYLOAD_SCHEMAS (domainId INTEGER, schemaId INTEGER, name TEXT, type INTEGER, flags INTEGER)"};

}  // namespace

// A record: the table, the number of rows, then the values of the rows.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  static const std::filesystem::path path = folder.path() / "export.sqlite";
  // Exists until the process ends: the database must not end before its statements.
  static SQLite::Database& sql = *new SQLite::Database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  static std::vector<SQLite::Statement>& inserts = *[] {
    auto* statements = new std::vector<SQLite::Statement>;  // NOLINT: exists until the process ends
    sql.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 1024");
    for (const char* table : tables) {
      sql.exec(std::string("CREATE TABLE ") + table);
      const std::string columns = std::string(table);
      const auto count = std::count(columns.begin(), columns.end(), ',') + 1;
      std::string values = "?";
      for (std::ptrdiff_t i = 1; i < count; ++i) values += ", ?";
      statements->emplace_back(
          sql, "INSERT OR IGNORE INTO " + columns.substr(0, columns.find(' ')) + " VALUES (" + values + ")");
    }
    return statements;
  }();
  std::string clear;
  for (const std::string table : tables) clear += "DELETE FROM " + table.substr(0, table.find(' ')) + ";";
  sql.exec("BEGIN;" + clear);
  for (fuzz::Bytes bytes(data, size); !bytes.empty();) {
    SQLite::Statement& insert = inserts[bytes.byte() % tables.size()];
    for (int rows = 1 + bytes.byte() % 16; rows > 0 && !bytes.empty(); --rows) {
      insert.tryReset();  // reports the error of the last row again
      insert.clearBindings();
      for (int at = 1; at <= insert.getBindParameterCount(); ++at) fuzz::bind(insert, at, bytes);
      const int code = insert.tryExecuteStep();
      fuzz::require(code == SQLITE_DONE || code == SQLITE_MISMATCH || code == SQLITE_CONSTRAINT,
                    "a row is inserted, or its table does not take such values");
    }
  }
  for (SQLite::Statement& insert : inserts) insert.tryReset();
  sql.exec("COMMIT");
  fuzz::read_nsight(path, folder);
  return 0;
}
