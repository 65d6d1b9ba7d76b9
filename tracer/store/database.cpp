#include "tracer/store/database.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>

#include "tracer/store/files/raw_file.hpp"
#include "tracer/store/files/seal.hpp"
#include "tracer/store/files/sealed_files.hpp"

namespace ddpprof::store {
namespace {

namespace fs = std::filesystem;

// The first 100 bytes of an SQLite file (https://www.sqlite.org/fileformat.html, section 1.3). They are read before
// SQLite opens the file, to detect foreign and truncated files first.
struct FileHeader {
  bool empty = false;
  bool sqlite = false;
  bool ours = false;
  std::size_t reserved_bytes = 0;    // of each page
  std::uint64_t expected_bytes = 0;  // at least one page
  std::uint64_t file_bytes = 0;
};

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

fs::path journal_of(const fs::path& path) { return path.string() + "-journal"; }

FileHeader read_header(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() != fs::file_type::not_found && error)
    throw DatabaseError(ErrorKind::io, path, fmt::format("{}: cannot be read: {}", path.string(), error.message()));
  if (!fs::exists(status))
    throw DatabaseError(ErrorKind::missing, path,
                        fmt::format("{}: no such file; expected a database written by ddpprof", path.string()));
  if (!fs::is_regular_file(status))
    throw DatabaseError(ErrorKind::not_sqlite, path,
                        fmt::format("{}: not a regular file; expected a database written by ddpprof", path.string()));
  const RawFile file(path);
  FileHeader header;
  header.file_bytes = fs::file_size(path, error);  // SQLite treats a file of one byte as empty
  std::array<unsigned char, 100> bytes{};
  const std::size_t got = file.read(bytes, 0);
  header.empty = header.file_bytes == 0;
  header.sqlite = got >= 16 && std::memcmp(bytes.data(), "SQLite format 3", 16) == 0;
  if (header.sqlite && got == bytes.size()) {
    header.reserved_bytes = bytes[20];
    header.ours = big_endian(&bytes[68]) == static_cast<std::uint32_t>(application_id);
    const std::uint32_t stored = std::uint32_t{bytes[16]} << 8 | bytes[17];
    const std::uint64_t page_bytes = stored == 1 ? 65536 : stored;
    header.expected_bytes = page_bytes;
    // The page count is valid if the change counter (byte 24) equals the version-valid-for number (byte 92).
    if (big_endian(&bytes[24]) == big_endian(&bytes[92]))
      header.expected_bytes = page_bytes * std::max(1U, big_endian(&bytes[28]));
  }
  return header;
}

DatabaseError truncated(const fs::path& path, std::uint64_t expected_bytes, std::uint64_t file_bytes) {
  return {ErrorKind::corrupt, path,
          fmt::format("{}: truncated: its header says {} bytes, the file has {}; copy it again from its source",
                      path.string(), expected_bytes, file_bytes)};
}

void require_ours(const fs::path& path, const FileHeader& header) {
  const std::string file = path.string();
  if (header.empty)
    throw DatabaseError(ErrorKind::not_sqlite, path,
                        fmt::format("{}: the file is empty; expected a database written by ddpprof", file));
  if (!header.sqlite)
    throw DatabaseError(ErrorKind::not_sqlite, path,
                        fmt::format("{}: not an SQLite database; expected a database written by ddpprof", file));
  if (header.file_bytes < 100)
    throw DatabaseError(
        ErrorKind::corrupt, path,
        fmt::format("{}: cut off after {} bytes; copy it again from its source", file, header.file_bytes));
  if (!header.ours)
    throw DatabaseError(
        ErrorKind::foreign, path,
        fmt::format("{}: an SQLite database, but not ddpprof's (application_id is not 0x{:08x}); another "
                    "tool's trace is read with 'ddpprof import'",
                    file, application_id));
  if (header.reserved_bytes != 0 && header.reserved_bytes != seal_bytes)
    throw DatabaseError(ErrorKind::corrupt, path,
                        fmt::format("{}: the database is damaged (its header reserves {} bytes of each page, expected "
                                    "{} or none); measure again, or restore a copy",
                                    file, header.reserved_bytes, seal_bytes));
  if (header.reserved_bytes == 0 && has_sealed_page(path))
    throw DatabaseError(
        ErrorKind::corrupt, path,
        fmt::format("{}: the database is damaged (its header says that its pages have no seals, and they "
                    "have); measure again, or restore a copy",
                    file));
  // A file with a journal may be in the middle of a change, which SQLite first finishes or rolls back. require_whole
  // checks the length again.
  std::error_code error;
  if (header.file_bytes < header.expected_bytes && !fs::exists(journal_of(path), error))
    throw truncated(path, header.expected_bytes, header.file_bytes);
}

std::unique_ptr<SQLite::Database> open_sql(const fs::path& path, int flags, const OpenOptions& options) {
  auto sql = std::make_unique<SQLite::Database>(path.string(), flags, static_cast<int>(options.busy_timeout.count()),
                                                sealed_files());
  sqlite3_extended_result_codes(sql->getHandle(), 1);
  return sql;
}

int pragma(SQLite::Database& sql, const char* name) { return sql.execAndGet(std::string("PRAGMA ") + name).getInt(); }

// Throws if the file is shorter than its header says. Checks under SQLite's lock, so that no process is in the middle
// of a change, and through SQLite's own file.
void require_whole(SQLite::Database& sql, const fs::path& path) {
  SQLite::Transaction reading(sql);
  const auto pages = static_cast<std::uint64_t>(sql.execAndGet("PRAGMA page_count").getInt64());
  const std::uint64_t expected_bytes = pages * static_cast<std::uint64_t>(pragma(sql, "page_size"));
  sqlite3_file* file = nullptr;
  sqlite3_int64 file_bytes = 0;
  int result = sqlite3_file_control(sql.getHandle(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  if (result == SQLITE_OK) result = file->pMethods->xFileSize(file, &file_bytes);
  if (result != SQLITE_OK) throw SQLite::Exception("the file's length cannot be read", result);
  if (static_cast<std::uint64_t>(file_bytes) < expected_bytes)
    throw truncated(path, expected_bytes, static_cast<std::uint64_t>(file_bytes));
}

// Throws if the path no longer names the file that SQLite has opened. Changes would be lost with that file. Must be
// called under SQLite's lock, for which this process may have waited.
void require_not_moved(SQLite::Database& sql, const fs::path& path) {
  int moved = 0;
  if (sqlite3_file_control(sql.getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0)
    throw DatabaseError(ErrorKind::locked, path,
                        fmt::format("{}: another process removed or replaced it meanwhile; repeat the command when that "
                                    "process has ended, or name another file",
                                    path.string()));
}

DatabaseError exists_already(const fs::path& path) {
  return {ErrorKind::exists, path,
          fmt::format("{}: this database exists already; name another file, or ask for it to be replaced",
                      path.string())};
}

// Syncs the file to disk, through SQLite's own file. Returns SQLite's result code.
int sync(SQLite::Database& sql) {
  sqlite3_file* file = nullptr;
  const int result =
      sqlite3_file_control(sql.getHandle(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  if (result != SQLITE_OK || file->pMethods == nullptr) return result;  // a database in memory has no file
  return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

// Throws DatabaseError(corrupt) if a table is missing: the file is damaged or was edited.
void require_tables(SQLite::Database& sql, const fs::path& path) {
  for (const Table& table : tables()) {
    SQLite::Statement query(sql, "SELECT count(*) FROM pragma_table_info(?)");
    query.bind(1, std::string(table.name));
    query.executeStep();
    if (query.getColumn(0).getInt64() < static_cast<std::int64_t>(table.columns.size()))
      throw DatabaseError(ErrorKind::corrupt, path,
                          fmt::format("{}: table \"{}\" is missing or has not all columns of schema version {}: the "
                                      "file was damaged or edited; measure again, or restore a copy",
                                      path.string(), table.name, schema_version));
  }
}

// Returns the error of an update to this program's schema version that failed and was rolled back.
DatabaseError not_updated(const SQLite::Exception& failure, const fs::path& path, int version) {
  const DatabaseError cause = translate(failure, path);
  const std::string update =
      fmt::format("This program first updates the file from schema version {} to {}", version, schema_version);
  const int code = failure.getErrorCode() & 0xff;
  if (code == SQLITE_READONLY || code == SQLITE_CANTOPEN)
    return {ErrorKind::io, path,
            fmt::format("{}: no permission to write ({}). {}; copy the file to a folder of your own, and use the copy",
                        path.string(), failure.what(), update)};
  return {cause.kind(), path, fmt::format("{}. {}; the file is unchanged", cause.what(), update)};
}

}  // namespace

Database Database::create(const fs::path& path, Replace replace, const OpenOptions& options) {
  std::error_code error;
  if (fs::exists(path, error)) {
    const FileHeader header = read_header(path);
    if (!header.empty && !header.ours)
      throw DatabaseError(
          header.sqlite ? ErrorKind::foreign : ErrorKind::not_sqlite, path,
          fmt::format("{}: would overwrite a file that is not a ddpprof database; name another file, or "
                      "remove this one yourself",
                      path.string()));
    if (!header.empty && replace == Replace::no) throw exists_already(path);
    // An empty file may be one in which another process makes a database now: it is not removed.
    if (!header.empty)
      Database::replace(
          path,
          [&] {
            if (!fs::remove(path, error))
              throw DatabaseError(ErrorKind::io, path,
                                  fmt::format("{}: cannot be replaced: {}", path.string(), error.message()));
          },
          options);
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error))
    throw DatabaseError(
        ErrorKind::io, path,
        fmt::format("{}: the folder {} does not exist; create it first", path.string(), folder.string()));
  try {
    auto sql = open_sql(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, options);
    begin_sealed(*sql);
    // One transaction: after a kill the file is empty or a complete database, never a database without our id.
    SQLite::Transaction transaction(*sql, SQLite::TransactionBehavior::IMMEDIATE);
    require_not_moved(*sql, path);
    if (fs::file_size(path, error) > 0 && !error) throw exists_already(path);  // made since this process looked
    sql->exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application_id, schema_version));
    sql->exec(create_tables_sql());
    transaction.commit();
    require_not_moved(*sql, path);
    return Database(path, std::move(sql));
  } catch (const SQLite::Exception& failure) {
    const DatabaseError translated = translate(failure, path);
    // Empty: its only transaction failed. A locked file is another process's.
    if (translated.kind() != ErrorKind::locked && fs::file_size(path, error) == 0 && !error) fs::remove(path, error);
    throw translated;
  }
}

Database Database::open(const fs::path& path, bool write, const OpenOptions& options) {
  require_ours(path, read_header(path));
  try {
    auto sql = open_sql(path, write ? SQLite::OPEN_READWRITE : SQLite::OPEN_READONLY, options);
    int version = 0;
    try {
      version = pragma(*sql, "user_version");
    } catch (const SQLite::Exception& failure) {
      // The journal of a killed load: only a writer may roll it back.
      const int code = failure.getExtendedErrorCode();
      if (write || (code != SQLITE_READONLY_ROLLBACK && code != SQLITE_CANTOPEN && code != SQLITE_READONLY)) throw;
      sql.reset();
      pragma(*open_sql(path, SQLite::OPEN_READWRITE, options), "user_version");
      sql = open_sql(path, SQLite::OPEN_READONLY, options);
      version = pragma(*sql, "user_version");
    }
    if (version == 0) require_ours(path, read_header(path));  // the creation was rolled back: the file is empty
    require_whole(*sql, path);
    if (version < schema_version) {
      if (!write) sql = open_sql(path, SQLite::OPEN_READWRITE, options);
      bool migrated = false;
      try {
        migrated = migrate(*sql, version, schema_version, options.migrations);
      } catch (const SQLite::Exception& failure) {
        throw not_updated(failure, path, version);
      }
      if (!migrated)
        throw DatabaseError(
            ErrorKind::older_version, path,
            fmt::format("{}: schema version {} cannot be brought to {}; measure again, or use the ddpprof "
                        "that wrote it",
                        path.string(), version, schema_version));
      version = pragma(*sql, "user_version");  // another program, possibly a newer one, may have migrated it first
      if (!write) sql = open_sql(path, SQLite::OPEN_READONLY, options);
    }
    if (version > schema_version)
      throw DatabaseError(
          ErrorKind::newer_version, path,
          fmt::format("{}: schema version {}, this program supports up to {}; use the newer ddpprof that wrote it",
                      path.string(), version, schema_version));
    require_tables(*sql, path);
    return Database(path, std::move(sql));
  } catch (const SQLite::Exception& failure) {
    throw translate(failure, path);
  }
}

void Database::replace(const fs::path& path, const std::function<void()>& put, const OpenOptions& options) {
  std::unique_ptr<SQLite::Database> old;  // holds the lock until the file is replaced
  try {
    old = open_sql(path, SQLite::OPEN_READWRITE, options);
    old->exec("BEGIN IMMEDIATE");  // first plays a journal back; allows readers
    require_not_moved(*old, path);
  } catch (const SQLite::Exception& failure) {
    const DatabaseError translated = translate(failure, path);
    if (translated.kind() == ErrorKind::locked) throw translated;
  }
  std::error_code error;
  fs::remove(journal_of(path), error);  // the journal of a damaged file is not played back
  put();
}

Database Database::open_read(const fs::path& path, const OpenOptions& options) { return open(path, false, options); }
Database Database::open_write(const fs::path& path, const OpenOptions& options) { return open(path, true, options); }

void Database::finish_load() {
  try {
    // SQLite sorts an index in the memory of its cache and then in files, because the rows may be larger than the
    // machine's memory. The files are in SQLITE_TMPDIR, TMPDIR, /var/tmp or /tmp.
    sql_->exec("PRAGMA temp_store = FILE; PRAGMA cache_size = -8192");
    SQLite::Transaction transaction(*sql_, SQLite::TransactionBehavior::IMMEDIATE);
    sql_->exec(create_indexes_sql());
    transaction.commit();
    sql_->exec("PRAGMA optimize; PRAGMA cache_size = -2000");
  } catch (const SQLite::Exception& failure) {
    throw translate(failure, path_);
  }
}

void Database::check() {
  try {
    const std::string finding = sql_->execAndGet("PRAGMA quick_check(1)").getString();
    if (finding != "ok") throw translate(SQLITE_CORRUPT, finding, path_);
  } catch (const SQLite::Exception& failure) {
    throw translate(failure, path_);
  }
}

BulkLoad::BulkLoad(Database& database) : database_(database) {
  try {
    database_.sql().exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -8192");
    transaction_.emplace(database_.sql(), SQLite::TransactionBehavior::IMMEDIATE);
  } catch (const SQLite::Exception& failure) {
    restore();
    throw translate(failure, database_.path());
  }
}

BulkLoad::~BulkLoad() {
  transaction_.reset();  // rolls back an uncommitted load
  restore();
}

void BulkLoad::restore() noexcept {
  sqlite3_exec(database_.sql().getHandle(), "PRAGMA synchronous = FULL; PRAGMA cache_size = -2000", nullptr, nullptr,
               nullptr);
}

void BulkLoad::commit() {
  try {
    transaction_->commit();
    transaction_.reset();
    const int result = sync(database_.sql());
    if (result != SQLITE_OK) throw SQLite::Exception("the file cannot be synced", result);
  } catch (const SQLite::Exception& failure) {
    throw translate(failure, database_.path());
  }
}

}  // namespace ddpprof::store
