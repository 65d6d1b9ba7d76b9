// The trace database file. create() and open() check the file, so that callers can rely on a valid, current schema.
//
// It uses a rollback journal, not WAL: the database stays one file that can be copied, and it works on network file
// systems (WAL needs shared memory). A load that is killed is rolled back to the last commit when the file is opened
// next.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Transaction.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "tracer/store/files/error.hpp"
#include "tracer/store/schema/migrations.hpp"
#include "tracer/store/schema/schema.hpp"

namespace ddpprof::store {

inline constexpr int application_id = 0x44445046;  // "DDPF", PRAGMA application_id

enum class Replace { no, yes };

struct OpenOptions {
  std::chrono::milliseconds busy_timeout{5000};  // longest wait for another process's lock
  std::span<const Migration> migrations = store::migrations();
};

class Database {
 public:
  // Creates an empty database with every table and view, but without indexes (finish_load makes them). Replaces a
  // ddpprof database only with Replace::yes, no other file. Of concurrent creators one succeeds. Throws DatabaseError.
  static Database create(const std::filesystem::path&, Replace = Replace::no, const OpenOptions& = {});
  // Opens read-only. A file of a killed load or of an older program is first brought up to date, which needs write
  // permission once. Throws DatabaseError.
  static Database open_read(const std::filesystem::path&, const OpenOptions& = {});
  static Database open_write(const std::filesystem::path&, const OpenOptions& = {});
  // Runs `put`, which removes or replaces the file, while no other process writes to it. Removes the journal of a
  // killed load, because SQLite would play it back into the new file. A damaged file is replaced without a lock. Throws
  // DatabaseError(locked), also if another process replaced the file meanwhile, and all that `put` throws.
  static void replace(const std::filesystem::path&, const std::function<void()>& put, const OpenOptions& = {});

  SQLite::Database& sql() { return *sql_; }
  const std::filesystem::path& path() const { return path_; }

  // Creates the missing indexes and SQLite's statistics. Call it once, after the last load.
  void finish_load();
  // Reads every page. Throws DatabaseError(corrupt) with the first error that SQLite finds. Takes seconds per GiB.
  void check();

 private:
  Database(std::filesystem::path path, std::unique_ptr<SQLite::Database> sql)
      : path_(std::move(path)), sql_(std::move(sql)) {}
  static Database open(const std::filesystem::path&, bool write, const OpenOptions&);

  std::filesystem::path path_;
  std::unique_ptr<SQLite::Database> sql_;
};

// One bulk load: a transaction with the pragmas that make it fast. It is rolled back without commit().
//
// It runs with synchronous=OFF. A killed process loses no committed data, because the page cache outlives it. commit()
// syncs the file once, at its end. A power failure after commit() loses nothing; one during the load may damage the
// file, which can then be made again from the shards.
class BulkLoad {
 public:
  explicit BulkLoad(Database&);  // throws DatabaseError(locked) if another process writes
  ~BulkLoad();
  BulkLoad(const BulkLoad&) = delete;
  BulkLoad& operator=(const BulkLoad&) = delete;

  void commit();

 private:
  void restore() noexcept;

  Database& database_;
  std::optional<SQLite::Transaction> transaction_;
};

}  // namespace ddpprof::store
