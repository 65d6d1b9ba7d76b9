// The trace database file: created, opened and checked so that every caller knows it holds a sound, current schema.
//
// Journal: a rollback journal, not WAL. The database stays one file that can be copied, works on network file systems
// (WAL needs shared memory), and a load that is killed rolls back to the last commit when the file is next opened.
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
  std::chrono::milliseconds busy_timeout{5000};  // how long to wait for another process's lock
  std::span<const Migration> migrations = store::migrations();
};

class Database {
 public:
  // An empty database with every table and view, without indexes (finish_load makes them). An existing file of ours is
  // replaced only with Replace::yes, a file that is not ours never. Throws DatabaseError.
  static Database create(const std::filesystem::path&, Replace = Replace::no, const OpenOptions& = {});
  // Read-only. A file left by a killed load or by an older program is first brought up to date, which needs write
  // permission once. Throws DatabaseError.
  static Database open_read(const std::filesystem::path&, const OpenOptions& = {});
  static Database open_write(const std::filesystem::path&, const OpenOptions& = {});
  // Runs `put`, which removes the file or puts another one in its place, while no other process writes to it, and
  // without the journal that a killed load may have left: SQLite would play it back into the file that stands there
  // next. A damaged file is nobody's. Throws DatabaseError(locked) and what `put` throws.
  static void replace(const std::filesystem::path&, const std::function<void()>& put, const OpenOptions& = {});

  SQLite::Database& sql() { return *sql_; }
  const std::filesystem::path& path() const { return path_; }

  // Creates the indexes (those that are missing) and SQLite's statistics. Call once, after the last load.
  void finish_load();
  // Reads every page; throws DatabaseError(corrupt) with SQLite's first finding. Takes seconds per GiB.
  void check();

 private:
  Database(std::filesystem::path path, std::unique_ptr<SQLite::Database> sql)
      : path_(std::move(path)), sql_(std::move(sql)) {}
  static Database open(const std::filesystem::path&, bool write, const OpenOptions&);

  std::filesystem::path path_;
  std::unique_ptr<SQLite::Database> sql_;
};

// One bulk load: a transaction with the pragmas that make it fast. Without commit() it rolls back.
//
// synchronous=OFF meanwhile: a killed process loses nothing that was committed (the page cache outlives it). commit()
// has the disk take the file once, at its end: a power cut after it loses nothing, one during the load may damage the
// file, and the shards it was made from are still there.
class BulkLoad {
 public:
  explicit BulkLoad(Database&);  // throws DatabaseError(locked) when another process writes
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
