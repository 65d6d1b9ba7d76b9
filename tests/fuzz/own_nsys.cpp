// SQLite files in Nsight Systems' shape, as ddpprof exports them and somebody may have edited their rows: restored as
// they are, or refused in words; and what was restored exports to files that restore alike.
#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <sqlite3.h>

#include <iterator>
#include <utility>
#include <vector>

#include "analysis/export/export.hpp"
#include "analysis/import/own/nsys.hpp"
#include "tests/analysis/export/nsys_recorded.hpp"
#include "tests/fuzz/empty_database.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/own_checks.hpp"
#include "tests/fuzz/sql_values.hpp"

using namespace ddpprof;

namespace {

struct Sound {
  std::string bytes;
  std::vector<std::pair<std::string, std::vector<std::string>>> tables;  // those that have rows, and their columns
};

Sound make_sound(const fuzz::Folder& folder) {
  const std::filesystem::path path = folder.path() / "sound.sqlite";
  {
    store::Database database = test::recorded_training(folder.path() / "sound.db");
    database.sql().exec("INSERT INTO meta (key, value) VALUES ('program_version', '1')");
    export_::export_nsys(database, path);
  }
  Sound sound;
  SQLite::Database sql(path.string(), SQLite::OPEN_READWRITE);
  // Each input is such a file, written anew.
  sql.exec("PRAGMA page_size = 512; VACUUM");
  SQLite::Statement columns(sql,
                            "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c "
                            "WHERE m.type = 'table' ORDER BY m.name, c.cid");
  while (columns.executeStep()) {
    const std::string table = columns.getColumn(0).getString();
    if (sql.execAndGet("SELECT count(*) FROM \"" + table + "\"").getInt64() == 0) continue;
    if (sound.tables.empty() || sound.tables.back().first != table) sound.tables.push_back({table, {}});
    sound.tables.back().second.push_back(columns.getColumn(1).getString());
  }
  std::ifstream file(path, std::ios::binary);
  sound.bytes.assign(std::istreambuf_iterator<char>(file), {});
  fuzz::require(sound.tables.size() > 15 && sound.bytes.size() < 200'000, "the sound export has tables, and is small");
  return sound;
}

// Which table, which row, what is done to it. A change that the table does not take is none.
void edit(SQLite::Database& sql, const Sound& sound, fuzz::Bytes& bytes) {
  const auto& [table, columns] = sound.tables[bytes.byte() % sound.tables.size()];
  const auto at = static_cast<std::int64_t>(bytes.byte());
  const std::string of_the_row = " WHERE rowid = (SELECT rowid FROM \"" + table + "\" LIMIT 1 OFFSET " +
                                 std::to_string(at) + " % max(1, (SELECT count(*) FROM \"" + table + "\")))";
  switch (const std::uint8_t what = bytes.byte(); what % 8) {
    case 0:
      sql.tryExec("DELETE FROM \"" + table + "\"" + of_the_row);
      break;
    case 1:
      sql.tryExec("INSERT OR IGNORE INTO \"" + table + "\" SELECT * FROM \"" + table + "\"" + of_the_row);
      break;
    case 2:
      sql.tryExec("DROP TABLE \"" + table + "\"");
      break;
    default: {
      if (!sql.tableExists(table)) break;
      const std::string& column = columns[bytes.byte() % columns.size()];
      SQLite::Statement update(sql, "UPDATE OR IGNORE \"" + table + "\" SET \"" + column + "\" = ?" + of_the_row);
      fuzz::bind(update, 1, bytes);
      update.tryExecuteStep();
      update.tryReset();
    }
  }
}

store::Database& database_in_a_file(const fuzz::Folder& folder) {
  static store::Database database = store::Database::create(folder.path() / "restored.db");
  std::string all = "BEGIN;";
  for (const store::Table& table : store::tables()) all += "DELETE FROM \"" + std::string(table.name) + "\";";
  database.sql().exec("PRAGMA synchronous = OFF;" + all + "COMMIT");
  return database;
}

// What a part of a database says of the whole is a row that no export has.
void count_part(store::Database& database, import::Restored& restored) {
  const auto count = [&](const char* where) {
    return database.sql().execAndGet(std::string("SELECT count(*) FROM meta ") + where).getInt64();
  };
  if (count("WHERE key = 'nsys_part_of'") == 0) return;
  ++restored.rows;
  if (count("") == 1) ++restored.tables;
}

}  // namespace

// The first byte: "f" a file of the bytes that follow, else edits of a sound one.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  static const Sound& sound = *new Sound(make_sound(folder));
  if (size == 0) return 0;
  const bool whole_file = data[0] == 'f';
  const std::filesystem::path path =
      folder.file("export.sqlite", whole_file ? fuzz::text_of(data + 1, size - 1) : std::string_view(sound.bytes));
  if (!whole_file) {
    SQLite::Database sql(path.string(), SQLite::OPEN_READWRITE);
    sql.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    for (fuzz::Bytes bytes(data + 1, size - 1); !bytes.empty();) edit(sql, sound, bytes);
    sql.exec("COMMIT");
  }
  import::is_own_nsys_export(path);
  store::Database& database = database_in_a_file(folder);
  try {
    import::Restored restored = import::restore_nsys(database, {&path, 1});
    count_part(database, restored);
    fuzz::check_restored(database, restored);
  } catch (const import::OwnExportError& error) {
    fuzz::require(std::string_view(error.what()).find("export.sqlite") != std::string_view::npos,
                  "a refusal names the file");
    return 0;
  }
  const std::vector<export_::NsysPart> parts = export_::nsys_parts(database);
  if (parts.empty()) return 0;  // nothing to export
  const std::filesystem::path exported = folder.path() / "exported";
  std::filesystem::remove_all(exported);
  export_::export_nsys(database, exported);
  std::vector<std::filesystem::path> files;
  if (parts.size() == 1) files.push_back(exported);
  for (const export_::NsysPart& part : parts)
    if (parts.size() > 1) files.push_back(exported / part.file);
  store::Database& again = fuzz::empty_database();
  try {
    import::restore_nsys(again, files);
  } catch (const import::OwnExportError& error) {
    fuzz::require(false, std::string("what was exported is restored: ") + error.what());
  }
  fuzz::require(fuzz::all_rows(again) == fuzz::all_rows(database), "what was restored and exported restores alike");
  return 0;
}
