#include "tracer/store/database.hpp"

#include <SQLiteCpp/Statement.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "tests/store/shard_builder.hpp"
#include "tracer/store/rows/inserter.hpp"

namespace ddpprof::store {
namespace {

using test::TemporaryFolder;
using ::testing::HasSubstr;

void write_text(const std::filesystem::path& path, std::string_view text) {
  test::ShardBuilder::write_bytes(path, std::as_bytes(std::span(text)));
}

// Runs `action`, returns the kind of error it throws and stores its message in `message`.
template <class Action>
std::optional<ErrorKind> kind_of(Action action, std::string* message = nullptr) {
  try {
    action();
  } catch (const DatabaseError& error) {
    if (message) *message = error.what();
    return error.kind();
  }
  return std::nullopt;
}

std::int64_t count(Database& database, const std::string& table) {
  SQLite::Statement query(database.sql(), "SELECT count(*) FROM \"" + table + "\"");
  query.executeStep();
  return query.getColumn(0).getInt64();
}

TEST(Database, CreatesWhatItOpens) {
  TemporaryFolder folder;
  Database::create(folder / "a.db");
  EXPECT_EQ(count(*std::make_unique<Database>(Database::open_write(folder / "a.db")), "step"), 0);
  Database read = Database::open_read(folder / "a.db");
  EXPECT_EQ(read.sql().execAndGet("PRAGMA application_id").getInt(), application_id);
  EXPECT_EQ(read.sql().execAndGet("PRAGMA user_version").getInt(), schema_version);
  EXPECT_THROW(read.sql().exec("DELETE FROM step"), SQLite::Exception);
  EXPECT_NO_THROW(read.check());
}

// A journal of a file without pages: its process was killed before the first commit (layout: section 3 of
// https://www.sqlite.org/fileformat.html).
TEST(Database, AFileThatWasNeverCommittedIsEmpty) {
  for (const bool write : {true, false}) {
    TemporaryFolder folder;
    Database::create(folder / "a.db");
    std::string journal("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
    for (const int number : {0, 1, 0, 512, 4096})  // records, nonce, pages, bytes of a sector, of a page
      for (const int shift : {24, 16, 8, 0}) journal += static_cast<char>(number >> shift);
    journal.resize(512, '\0');
    write_text(folder / "a.db-journal", journal);
    std::string message;
    const auto open = [&] { write ? Database::open_write(folder / "a.db") : Database::open_read(folder / "a.db"); };
    EXPECT_EQ(kind_of(open, &message), ErrorKind::not_sqlite);
    EXPECT_THAT(message, HasSubstr("the file is empty"));
  }
}

TEST(Database, CreateRefusesAndReplaces) {
  TemporaryFolder folder;
  {
    Database database = Database::create(folder / "a.db");
    Inserter<MetaRow>(database).insert({"format", "1"});
  }
  EXPECT_EQ(kind_of([&] { Database::create(folder / "a.db"); }), ErrorKind::exists);
  Database replaced = Database::create(folder / "a.db", Replace::yes);
  EXPECT_EQ(count(replaced, "meta"), 0);
}

TEST(Database, NeverOverwritesAForeignFile) {
  TemporaryFolder folder;
  write_text(folder / "notes.txt", "my notes");
  EXPECT_EQ(kind_of([&] { Database::create(folder / "notes.txt", Replace::yes); }), ErrorKind::not_sqlite);
  SQLite::Database((folder / "other.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE mine(a)");
  EXPECT_EQ(kind_of([&] { Database::create(folder / "other.db", Replace::yes); }), ErrorKind::foreign);
  EXPECT_EQ(std::filesystem::file_size(folder / "notes.txt"), 8u);
  write_text(folder / "one.txt", "x");  // SQLite treats it as empty
  EXPECT_EQ(kind_of([&] { Database::create(folder / "one.txt", Replace::yes); }), ErrorKind::not_sqlite);
  write_text(folder / "empty.db", "");  // like a file of mktemp
  EXPECT_EQ(kind_of([&] { Database::create(folder / "empty.db"); }), std::nullopt);
  EXPECT_EQ(kind_of([&] { Database::create(folder / "no" / "such" / "a.db"); }), ErrorKind::io);
}

TEST(Database, ReportsWhatIsWrongWithAFile) {
  TemporaryFolder folder;
  std::string message;
  EXPECT_EQ(kind_of([&] { Database::open_read(folder / "none.db"); }, &message), ErrorKind::missing);
  EXPECT_THAT(message, HasSubstr("none.db"));
  EXPECT_EQ(kind_of([&] { Database::open_read(folder / "."); }), ErrorKind::not_sqlite);
  write_text(folder / "text.db", std::string(4096, 'x'));
  EXPECT_EQ(kind_of([&] { Database::open_read(folder / "text.db"); }), ErrorKind::not_sqlite);
  write_text(folder / "empty.db", "");
  EXPECT_EQ(kind_of([&] { Database::open_write(folder / "empty.db"); }), ErrorKind::not_sqlite);
  SQLite::Database((folder / "other.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE mine(a)");
  EXPECT_EQ(kind_of([&] { Database::open_read(folder / "other.db"); }, &message), ErrorKind::foreign);
  EXPECT_THAT(message, HasSubstr("import"));
}

TEST(Database, NewerVersionIsRefused) {
  TemporaryFolder folder;
  Database::create(folder / "a.db").sql().exec("PRAGMA user_version = 99");
  std::string message;
  EXPECT_EQ(kind_of([&] { Database::open_read(folder / "a.db"); }, &message), ErrorKind::newer_version);
  EXPECT_THAT(message, HasSubstr("99"));
}

// An artificial history: the previous version has no measurement.message, the version before also no comm_point. Two
// steps show that steps are chained.
TEST(Database, OlderVersionsAreMigrated) {
  TemporaryFolder folder;
  constexpr int oldest = schema_version - 2;
  const auto make_old = [&] {
    Database database = Database::create(folder / "a.db", Replace::yes);
    database.sql().exec(
        "DROP VIEW aligned_step; DROP VIEW aligned_collective;"
        "ALTER TABLE measurement DROP COLUMN message; DROP TABLE comm_point;"
        "PRAGMA user_version = " +
        std::to_string(oldest));
  };
  const Migration steps[] = {
      {oldest, "adds comm_point", "CREATE TABLE comm_point(shard_id, op, bytes, iteration, duration_ns, processor_ns)"},
      {oldest + 1, "adds measurement.message", "ALTER TABLE measurement ADD COLUMN message TEXT NOT NULL DEFAULT ''"},
  };
  OpenOptions options;
  options.migrations = steps;
  for (bool write : {true, false}) {
    make_old();
    Database database =
        write ? Database::open_write(folder / "a.db", options) : Database::open_read(folder / "a.db", options);
    EXPECT_EQ(database.sql().execAndGet("PRAGMA user_version").getInt(), schema_version);
    EXPECT_NO_THROW(database.sql().exec("SELECT message FROM measurement"));
    EXPECT_EQ(count(database, "comm_point"), 0);
  }
  // With a missing step the file is not changed.
  make_old();
  options.migrations = std::span(steps).last(1);
  EXPECT_EQ(kind_of([&] { Database::open_write(folder / "a.db", options); }), ErrorKind::older_version);
  // A step that fails does not change the version.
  const Migration failing[] = {steps[0],
                               {oldest + 1, "wrong", "ALTER TABLE measurement ADD COLUMN world_size INTEGER"}};
  options.migrations = failing;
  EXPECT_TRUE(kind_of([&] { Database::open_write(folder / "a.db", options); }));
  SQLite::Database raw((folder / "a.db").string(), SQLite::OPEN_READWRITE);
  EXPECT_EQ(raw.execAndGet("PRAGMA user_version").getInt(), oldest);
  EXPECT_FALSE(raw.tableExists("comm_point"));
}

// Usually both have read the old version before the lock becomes free; on a loaded machine perhaps only one has.
TEST(Database, TwoThatOpenAnOldFileAtOnceBothGetIt) {
  TemporaryFolder folder;
  Database::create(folder / "a.db")
      .sql()
      .exec("ALTER TABLE measurement DROP COLUMN message; PRAGMA user_version = " + std::to_string(schema_version - 1));
  const Migration steps[] = {{schema_version - 1, "adds measurement.message",
                              "ALTER TABLE measurement ADD COLUMN message TEXT NOT NULL DEFAULT ''"}};
  const OpenOptions options{.busy_timeout = std::chrono::minutes(2), .migrations = steps};
  SQLite::Database holder((folder / "a.db").string(), SQLite::OPEN_READWRITE);
  holder.exec("BEGIN IMMEDIATE");
  const auto open = [&] {
    std::string message;
    kind_of([&] { Database::open_read(folder / "a.db", options); }, &message);
    return message;
  };
  auto one = std::async(std::launch::async, open), other = std::async(std::launch::async, open);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  holder.exec("ROLLBACK");
  EXPECT_EQ(one.get(), "");
  EXPECT_EQ(other.get(), "");
  EXPECT_EQ(holder.execAndGet("PRAGMA user_version").getInt(), schema_version);
}

// A file of version 1 keeps its rows and gets the later tables and columns, equal to those of a new file.
TEST(Database, AVersionOneFileBecomesTheCurrentVersion) {
  TemporaryFolder folder;
  const auto columns = [](SQLite::Database& sql, const std::string& table) {
    std::vector<std::string> found;
    SQLite::Statement query(sql, "SELECT name, type, \"notnull\", pk FROM pragma_table_info(?)");
    query.bind(1, table);
    while (query.executeStep()) {
      found.push_back(query.getColumn(0).getString() + " " + query.getColumn(1).getString() + " " +
                      query.getColumn(2).getString() + " " + query.getColumn(3).getString());
    }
    return found;
  };
  {
    Database database = Database::create(folder / "old.db");
    Inserter<MeasurementRow>(database).insert({});
    database.sql().exec(
        "DROP VIEW aligned_step; DROP VIEW aligned_collective; ALTER TABLE measurement DROP COLUMN machines;"
        "ALTER TABLE comm_point DROP COLUMN processor_ns; DROP TABLE host_condition; DROP TABLE memory;"
        "DROP TABLE device_time; DROP TABLE kernel_summary; ALTER TABLE api_call DROP COLUMN name_id;"
        "ALTER TABLE collective DROP COLUMN datatype; ALTER TABLE collective DROP COLUMN algorithm;"
        "ALTER TABLE collective DROP COLUMN protocol; ALTER TABLE collective DROP COLUMN channels;"
        "ALTER TABLE step DROP COLUMN learning_rate; ALTER TABLE step DROP COLUMN local_gradient_sqr;"
        "ALTER TABLE step DROP COLUMN gradient_sqr; ALTER TABLE step DROP COLUMN device_idle_ns;"
        "ALTER TABLE prediction DROP COLUMN host_s; ALTER TABLE collective DROP COLUMN peer;"
        "ALTER TABLE collective DROP COLUMN asynchronous; ALTER TABLE collective DROP COLUMN largest_split;"
        "DROP TABLE process_group; DROP TABLE sharded_unit; DROP TABLE sharded_work;"
        "PRAGMA user_version = 1");
  }
  Database migrated = Database::open_read(folder / "old.db");
  Database fresh = Database::create(folder / "new.db");
  EXPECT_EQ(migrated.sql().execAndGet("PRAGMA user_version").getInt(), schema_version);
  EXPECT_EQ(count(migrated, "measurement"), 1);
  for (const Table& table : tables()) {
    const std::string name(table.name);
    EXPECT_EQ(columns(migrated.sql(), name), columns(fresh.sql(), name)) << name;
  }
}

TEST(Database, ALockIsReportedAfterATimeout) {
  TemporaryFolder folder;
  Database writer = Database::create(folder / "a.db");
  OpenOptions options;
  options.busy_timeout = std::chrono::milliseconds(20);
  Database second = Database::open_write(folder / "a.db", options);
  BulkLoad load(writer);
  EXPECT_EQ(kind_of([&] { BulkLoad other(second); }), ErrorKind::locked);
  EXPECT_EQ(kind_of([&] { Database::create(folder / "a.db", Replace::yes, options); }), ErrorKind::locked);
}

// Returns true if another process would find a lock of this process in SQLite's lock bytes of the file
// (https://www.sqlite.org/src/file?name=src/os.h, from PENDING_BYTE on).
bool is_locked_by_us(const std::filesystem::path& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 0x40000000;
    lock.l_len = 512;
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0 || ::fcntl(file, F_GETLK, &lock) != 0) ::_exit(2);
    ::_exit(lock.l_type != F_UNLCK && lock.l_pid == ::getppid() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2);
  return WEXITSTATUS(status) == 1;
}

// Regression: the window reads a step's details while it loads the timeline of the same file. Reading the header
// through a stream released the first reader's lock, so that another process could write meanwhile.
TEST(Database, OpeningTheSameFileAgainKeepsLocks) {
  TemporaryFolder folder;
  Database::create(folder / "a.db");
  Database first = Database::open_read(folder / "a.db");
  EXPECT_FALSE(is_locked_by_us(folder / "a.db"));
  {
    SQLite::Transaction reading(first.sql());
    EXPECT_EQ(count(first, "step"), 0);
    ASSERT_TRUE(is_locked_by_us(folder / "a.db"));
    { Database second = Database::open_read(folder / "a.db"); }
    EXPECT_TRUE(is_locked_by_us(folder / "a.db"));
    EXPECT_EQ(kind_of([&] { Database::create(folder / "a.db"); }), ErrorKind::exists);
    EXPECT_TRUE(is_locked_by_us(folder / "a.db"));
  }
  EXPECT_FALSE(is_locked_by_us(folder / "a.db"));
}

// The state after a load was killed that had written pages to the file: the journal has the pages before the load.
void leave_a_hot_journal(const std::filesystem::path& path) {
  const std::filesystem::path loading = path.string() + ".loading";
  Database database = Database::create(loading);
  {
    BulkLoad load(database);
    Inserter<RangeRow> ranges(database);
    for (int i = 0; i < 5000; ++i) ranges.insert({1, 2, 3, {}, RangeKind::mark, 0, i, i, {}});
    load.commit();
  }
  BulkLoad load(database);
  database.sql().exec("PRAGMA cache_size = 10; UPDATE \"range\" SET tid = 9");
  std::filesystem::copy_file(loading, path);
  std::filesystem::copy_file(loading.string() + "-journal", path.string() + "-journal");
}

TEST(Database, AReplacedFileDoesNotKeepItsJournal) {
  TemporaryFolder folder;
  leave_a_hot_journal(folder / "hot.db");
  EXPECT_EQ(Database::open_write(folder / "hot.db").sql().execAndGet("SELECT min(tid) FROM \"range\"").getInt(), 2)
      << "SQLite must play the journal back";
  leave_a_hot_journal(folder / "a.db");
  {
    Database next = Database::create(folder / "next.db");
    Inserter<MetaRow>(next).insert({"of", "the next"});
  }
  Database::replace(folder / "a.db", [&] { std::filesystem::rename(folder / "next.db", folder / "a.db"); });
  EXPECT_FALSE(std::filesystem::exists(folder / "a.db-journal"));
  Database now = Database::open_read(folder / "a.db");
  EXPECT_EQ(count(now, "range"), 0);
  EXPECT_EQ(count(now, "meta"), 1);
  EXPECT_NO_THROW(now.check());
  OpenOptions options;
  options.busy_timeout = std::chrono::milliseconds(20);
  {
    SQLite::Transaction reading(now.sql());  // a reader, like a window
    EXPECT_EQ(count(now, "meta"), 1);
    EXPECT_EQ(kind_of([&] {
                Database::replace(
                    folder / "a.db", [] {}, options);
              }),
              std::nullopt);
  }
  Database writer = Database::open_write(folder / "a.db");
  BulkLoad load(writer);
  const auto never = [] { FAIL() << "must not run while another process writes"; };
  EXPECT_EQ(kind_of([&] { Database::replace(folder / "a.db", never, options); }), ErrorKind::locked);
}

TEST(Database, AnUnreadableFileIsReportedWithTheSystemsMessage) {
  TemporaryFolder folder;
  Database::create(folder / "a.db");
  std::filesystem::permissions(folder / "", std::filesystem::perms(0755));
  std::filesystem::permissions(folder / "a.db", std::filesystem::perms::none);
  const uid_t user = ::geteuid();
  if (user == 0) {
    ASSERT_EQ(::seteuid(65534), 0);  // root can read every file
  }
  std::string message;
  const std::optional<ErrorKind> kind = kind_of([&] { Database::open_read(folder / "a.db"); }, &message);
  if (user == 0) {
    ASSERT_EQ(::seteuid(user), 0);
  }
  EXPECT_EQ(kind, ErrorKind::io);
  EXPECT_THAT(message, HasSubstr("Permission denied"));
}

// For every cut of the file, opening or a full check finds the damage, or all rows are there. Nothing crashes.
TEST(Database, TruncationIsFound) {
  TemporaryFolder folder;
  {
    Database database = Database::create(folder / "a.db");
    BulkLoad load(database);  // one transaction, so that the disk syncs once
    Inserter<MetaRow> meta(database);
    for (int i = 0; i < 500; ++i) meta.insert({"key" + std::to_string(i), std::string(100, 'v')});
    load.commit();
  }
  const auto whole = std::filesystem::file_size(folder / "a.db");
  for (std::uintmax_t size = 0; size < whole; size += size < 200 ? 1 : 1021) {
    std::filesystem::copy_file(folder / "a.db", folder / "cut.db", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(folder / "cut.db", size);
    const auto kind = kind_of([&] { Database::open_read(folder / "cut.db"); });
    ASSERT_TRUE(kind == ErrorKind::corrupt || kind == ErrorKind::not_sqlite) << size;
    if (size >= 100) {
      ASSERT_EQ(kind, ErrorKind::corrupt) << size;
    }
  }
}

TEST(Database, DamagedPagesAreFoundByCheck) {
  TemporaryFolder folder;
  {
    Database database = Database::create(folder / "a.db");
    BulkLoad load(database);  // one transaction, so that the disk syncs once
    Inserter<MetaRow> meta(database);
    for (int i = 0; i < 2000; ++i) meta.insert({"key" + std::to_string(i), std::string(100, 'v')});
    load.commit();
  }
  const auto size = std::filesystem::file_size(folder / "a.db");
  {
    std::fstream file(folder / "a.db", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(size / 2 / 4096 * 4096));
    file << std::string(4096, '\x5a');
  }
  EXPECT_EQ(kind_of([&] { Database::open_read(folder / "a.db").check(); }), ErrorKind::corrupt);
}

TEST(Database, DroppedTableIsFound) {
  TemporaryFolder folder;
  Database::create(folder / "a.db").sql().exec("DROP TABLE phase");
  std::string message;
  EXPECT_EQ(kind_of([&] { Database::open_read(folder / "a.db"); }, &message), ErrorKind::corrupt);
  EXPECT_THAT(message, HasSubstr("phase"));
}

TEST(BulkLoad, RollsBackWithoutCommit) {
  TemporaryFolder folder;
  Database database = Database::create(folder / "a.db");
  {
    BulkLoad load(database);
    Inserter<MetaRow>(database).insert({"a", "1"});
  }
  EXPECT_EQ(count(database, "meta"), 0);
  {
    BulkLoad load(database);
    Inserter<MetaRow>(database).insert({"a", "1"});
    load.commit();
  }
  EXPECT_EQ(count(database, "meta"), 1);
  EXPECT_EQ(database.sql().execAndGet("PRAGMA synchronous").getInt(), 2);  // back to FULL
  database.finish_load();
  EXPECT_NO_THROW(database.sql().exec("SELECT * FROM step INDEXED BY step_by_shard WHERE shard_id = 1"));
}

// A child commits one load and is killed during a second one that has written pages to the file. The file then has the
// first load and nothing of the second; both ways of opening repair it.
TEST(BulkLoad, KilledLoadLeavesTheCommittedPart) {
  for (bool write : {true, false}) {
    TemporaryFolder folder;
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        Database database = Database::create(folder / "a.db");
        {
          BulkLoad load(database);
          Inserter<RangeRow> ranges(database);
          for (int i = 0; i < 20000; ++i) ranges.insert({1, 2, 3, {}, RangeKind::mark, 0, i, i, {}});
          load.commit();
        }
        BulkLoad load(database);
        database.sql().exec("PRAGMA cache_size = 10");  // writes pages early, so that the kill leaves a hot journal
        database.sql().exec("UPDATE \"range\" SET tid = 9");
        Inserter<RangeRow> ranges(database);
        for (int i = 0; i < 20000; ++i) ranges.insert({2, 9, 3, {}, RangeKind::mark, 0, i, i, {}});
        [[maybe_unused]] const auto told = ::write(ready[1], "x", 1);
        for (;;) ::pause();
      } catch (...) {
        ::_exit(1);
      }
    }
    ::close(ready[1]);
    pollfd wait{ready[0], POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, 60000), 1);
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1) << "the child failed";
    ::close(ready[0]);
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(std::filesystem::exists(folder / "a.db-journal"));
    Database database = write ? Database::open_write(folder / "a.db") : Database::open_read(folder / "a.db");
    EXPECT_EQ(count(database, "range"), 20000);
    EXPECT_EQ(database.sql().execAndGet("SELECT count(*) FROM \"range\" WHERE tid = 2").getInt(), 20000);
    EXPECT_NO_THROW(database.check());
  }
}

}  // namespace
}  // namespace ddpprof::store
