// Tests seals: damaged or edited pages are refused, intact pages are read, and the file stays a normal SQLite file.
#include "tracer/store/files/seal.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/store/shard_builder.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/files/sealed_files.hpp"
#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/rows.hpp"

namespace ddpprof::store {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::HasSubstr;

constexpr std::size_t page_bytes = 4096;

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Rows with long texts that need extra pages, and indexes.
void fill(const fs::path& path) {
  Database database = Database::create(path);
  {
    BulkLoad load(database);
    Inserter<MetaRow> meta(database);
    for (int i = 0; i < 300; ++i)
      meta.insert({"key" + std::to_string(i), std::string(static_cast<std::size_t>(20 + 31 * (i % 7)), 'v')});
    meta.insert({"long", std::string(40'000, 'w')});
    load.commit();
  }
  database.finish_load();
}

// Returns all rows of all tables, in order.
std::string contents(Database& database) {
  std::string all;
  try {
    for (const Table& table : tables()) {
      SQLite::Statement query(database.sql(), "SELECT * FROM \"" + std::string(table.name) + "\"");
      while (query.executeStep())
        for (int i = 0; i < query.getColumnCount(); ++i) all += query.getColumn(i).getString() + "|";
    }
  } catch (const SQLite::Exception& error) {
    throw translate(error, database.path());
  }
  return all;
}

std::string contents(const fs::path& path) {
  Database database = Database::open_read(path);
  return contents(database);
}

// Returns the error message of reading the complete file, "" on success.
std::string refusal(const fs::path& path, ErrorKind kind = ErrorKind::corrupt) {
  try {
    contents(path);
  } catch (const DatabaseError& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "";
}

TEST(Seal, EveryBitAndTheNumberCount) {
  std::mt19937_64 random(7);
  std::vector<unsigned char> page(512);
  for (unsigned char& byte : page) byte = static_cast<unsigned char>(random());
  const std::uint64_t sum = seal_of(page, 3);
  EXPECT_NE(seal_of(page, 4), sum);
  for (std::size_t bit = 0; bit < 8 * (page.size() - seal_bytes); ++bit) {
    page[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    ASSERT_NE(seal_of(page, 3), sum) << bit;
    page[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
  }
  seal(page, 3);
  EXPECT_TRUE(is_sealed(page, 3));
  EXPECT_FALSE(is_sealed(page, 2));
  page[page.size() - 1] ^= 1;
  EXPECT_FALSE(is_sealed(page, 3));
}

TEST(SealedFiles, EveryPageOfANewDatabaseIsSealed) {
  TemporaryFolder folder;
  fill(folder / "a.db");
  const std::string bytes = bytes_of(folder / "a.db");
  ASSERT_EQ(bytes.size() % page_bytes, 0U);
  ASSERT_GT(bytes.size(), 30 * page_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += page_bytes)
    EXPECT_TRUE(is_sealed({reinterpret_cast<const unsigned char*>(&bytes[at]), page_bytes}, at / page_bytes + 1)) << at;
}

// At least 200 flips (a requirement of the project). A flip in a page that is not read has no effect.
TEST(SealedFiles, AFlippedBitIsFoundOrChangesNothing) {
  TemporaryFolder folder;
  fill(folder / "a.db");
  const std::string sound = bytes_of(folder / "a.db"), expected = contents(folder / "a.db");
  std::mt19937_64 random(1);
  int refused = 0;
  const auto look = [&](std::size_t bit) {
    std::string bytes = sound;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    write(folder / "b.db", bytes);
    try {
      ASSERT_EQ(contents(folder / "b.db"), expected) << "bit " << bit;
    } catch (const DatabaseError& error) {
      ++refused;
      ASSERT_TRUE(error.kind() == ErrorKind::corrupt || error.kind() == ErrorKind::not_sqlite ||
                  error.kind() == ErrorKind::foreign)
          << error.what();
    }
  };
  for (int i = 0; i < 400; ++i) look(random() % (8 * sound.size()));
  EXPECT_GT(refused, 200) << "most pages must be read";
  refused = 0;
  for (std::size_t bit = 0; bit < 8 * 100; ++bit) look(bit);  // each bit of the header
  EXPECT_EQ(refused, 8 * 100);
}

// The journal of a load that was killed. SQLite's own checksum covers one of 200 bytes of each page in it.
TEST(SealedFiles, ADamagedPageInAJournalIsFoundOrChangesNothing) {
  TemporaryFolder folder;
  fill(folder / "a.db");
  const std::string expected = contents(folder / "a.db");
  std::string bytes, journal;
  {
    Database database = Database::open_write(folder / "a.db");
    database.sql().exec(
        "PRAGMA cache_size = 4; BEGIN; UPDATE meta SET value = value || 'x'");  // writes pages to the file early
    bytes = bytes_of(folder / "a.db");
    journal = bytes_of(folder / "a.db-journal");
    database.sql().exec("ROLLBACK");
  }
  constexpr std::size_t sector_bytes = 512, record_bytes = 4 + page_bytes + 4;
  const std::size_t records = (journal.size() - sector_bytes) / record_bytes;
  ASSERT_GT(records, 3U);
  std::mt19937_64 random(2);
  int refused = 0;
  const auto look = [&](const std::string& damaged) {
    write(folder / "b.db", bytes);
    write(folder / "b.db-journal", damaged);
    try {
      EXPECT_TRUE(contents(folder / "b.db") == expected) << "damage must not change the result";
    } catch (const DatabaseError& error) {
      ++refused;
      EXPECT_EQ(error.kind(), ErrorKind::corrupt) << error.what();
    }
  };
  look(journal);
  ASSERT_EQ(refused, 0) << "an undamaged journal must be rolled back";
  for (int i = 0; i < 200; ++i) {
    const std::size_t record = static_cast<std::size_t>(i) % records, at = random() % page_bytes;
    if (at % 200 == page_bytes % 200) continue;  // covered by the checksum: SQLite treats it as the journal's end
    std::string damaged = journal;
    char& byte = damaged[sector_bytes + record * record_bytes + 4 + at];
    byte = static_cast<char>(byte ^ 1 << random() % 8);
    SCOPED_TRACE("record " + std::to_string(record) + ", byte " + std::to_string(at));
    look(damaged);
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 100);
}

TEST(SealedFiles, ZeroedSwappedAndForeignPagesAreFound) {
  TemporaryFolder folder;
  fill(folder / "a.db");
  const std::string sound = bytes_of(folder / "a.db"), expected = contents(folder / "a.db");
  const auto page = [&](std::size_t number) { return sound.substr(number * page_bytes, page_bytes); };
  int zeroed = 0, swapped = 0;
  for (std::size_t number = 0; number < sound.size() / page_bytes; ++number) {
    std::string bytes = sound;
    bytes.replace(number * page_bytes, page_bytes, std::string(page_bytes, '\0'));
    write(folder / "b.db", bytes);
    zeroed += !refusal(folder / "b.db", number == 0 ? ErrorKind::not_sqlite : ErrorKind::corrupt).empty();
    const std::size_t other = number + 1 < sound.size() / page_bytes ? number + 1 : 1;
    if (number == 0 || page(number) == page(other)) continue;
    bytes = sound;
    bytes.replace(number * page_bytes, page_bytes, page(other));
    write(folder / "b.db", bytes);
    const bool found = !refusal(folder / "b.db").empty();
    swapped += found;
    if (!found) {
      EXPECT_EQ(contents(folder / "b.db"), expected) << number;
    }
  }
  EXPECT_GT(zeroed, 30);
  EXPECT_GT(swapped, 30);
}

TEST(SealedFiles, StaysPlainSqlite) {
  TemporaryFolder folder;
  fill(folder / "a.db");
  SQLite::Database plain((folder / "a.db").string());
  EXPECT_EQ(plain.execAndGet("PRAGMA integrity_check").getString(), "ok");
  EXPECT_EQ(plain.execAndGet("SELECT count(*) FROM meta").getInt(), 301);
  EXPECT_EQ(plain.execAndGet("SELECT length(value) FROM meta WHERE key = 'long'").getInt(), 40'000);
}

TEST(SealedFiles, RowsThatAnotherProgramEditedAreRefusedUntilAskedFor) {
  TemporaryFolder folder;
  fill(folder / "a.db");
  SQLite::Database((folder / "a.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE meta SET value = 'edited' WHERE key = 'key7'");
  EXPECT_THAT(refusal(folder / "a.db"), testing::AllOf(HasSubstr("edited"), HasSubstr("DDPPROF_SEALS=ignore")));
  ASSERT_EQ(setenv(seals_variable, "ignore", 1), 0);
  EXPECT_THAT(contents(folder / "a.db"), HasSubstr("|edited|"));
  ASSERT_EQ(unsetenv(seals_variable), 0);
  // After this program has rewritten the file, its pages are sealed again.
  ASSERT_EQ(setenv(seals_variable, "ignore", 1), 0);
  Database::open_write(folder / "a.db").sql().exec("VACUUM");
  ASSERT_EQ(unsetenv(seals_variable), 0);
  EXPECT_THAT(contents(folder / "a.db"), HasSubstr("|edited|"));
}

// The header of the first page says that the file has no seals.
TEST(SealedFiles, AHeaderWithoutReservedBytesIsFoundAsDamage) {
  TemporaryFolder folder;
  fill(folder / "a.db");
  std::string bytes = bytes_of(folder / "a.db");
  bytes[20] = '\0';    // reserved bytes of each page
  bytes[47] = '\x7f';  // schema format
  bytes[60] = '\xfe';  // user_version, below zero
  write(folder / "b.db", bytes);
  EXPECT_THAT(refusal(folder / "b.db"), HasSubstr("no seals"));
}

TEST(SealedFiles, AFileSmallerThanAPageIsTruncatedWhateverItsCountersSay) {
  TemporaryFolder folder;
  fill(folder / "a.db");
  std::string bytes = bytes_of(folder / "a.db").substr(0, 116);
  bytes[92] = static_cast<char>(bytes[92] ^ 1);  // the page count is no longer valid
  bytes[47] = '\x7f';
  write(folder / "b.db", bytes);
  EXPECT_THAT(refusal(folder / "b.db"), HasSubstr("truncated"));
}

// A journal means that the file may be in the middle of a change. An empty journal and the journal of a completed
// change have no effect.
TEST(SealedFiles, ACutFileBesideAJournalIsRefused) {
  TemporaryFolder folder;
  fill(folder / "a.db");
  const std::string sound = bytes_of(folder / "a.db"), expected = contents(folder / "a.db");
  for (const std::string& journal : {std::string(), std::string(512, '\0')})
    for (const std::size_t missing : {std::size_t{1}, page_bytes - 600, page_bytes, 3 * page_bytes + 7}) {
      SCOPED_TRACE(missing);
      write(folder / "b.db", sound.substr(0, sound.size() - missing));
      write(folder / "b.db-journal", journal);
      EXPECT_FALSE(refusal(folder / "b.db").empty());
      ASSERT_EQ(setenv(seals_variable, "ignore", 1), 0);  // like a file without seals
      EXPECT_FALSE(refusal(folder / "b.db").empty());
      ASSERT_EQ(unsetenv(seals_variable), 0);
    }
  write(folder / "b.db", sound);
  EXPECT_EQ(contents(folder / "b.db"), expected) << "a journal alone must not count as damage";
}

// The file is cut within a page after it was opened. SQLite fills the missing bytes with zeros.
TEST(SealedFiles, APageThatIsCutIsNotReadAsZeros) {
  TemporaryFolder folder;
  {
    Database database = Database::create(folder / "a.db");
    Inserter<MetaRow> meta(database);
    meta.insert({"long", std::string(40'000, 'w')});  // its last page is the last page of the file
  }
  Database database = Database::open_read(folder / "a.db");
  const auto length = [&] {
    return database.sql().execAndGet("SELECT length(replace(value, char(0), '')) FROM meta").getInt();
  };
  ASSERT_EQ(length(), 40'000);
  fs::resize_file(folder / "a.db", fs::file_size(folder / "a.db") - 4000);
  database.sql().exec("PRAGMA shrink_memory");
  try {
    EXPECT_EQ(length(), 40'000);
  } catch (const SQLite::Exception& error) {
    EXPECT_EQ(translate(error, folder / "a.db").kind(), ErrorKind::corrupt) << error.what();
  }
}

// Like files of programs from before the seals.
TEST(SealedFiles, AFileWithoutSealsIsReadAsItIs) {
  TemporaryFolder folder;
  {
    SQLite::Database plain((folder / "a.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    plain.exec("PRAGMA application_id = " + std::to_string(application_id) +
               "; PRAGMA user_version = " + std::to_string(schema_version));
    plain.exec(create_tables_sql());
    plain.exec("INSERT INTO meta VALUES ('written by', 'an older program')");
  }
  EXPECT_EQ(contents(folder / "a.db"), "written by|an older program|");
  Database::open_write(folder / "a.db").sql().exec("INSERT INTO meta VALUES ('changed by', 'this one')");
  EXPECT_THAT(contents(folder / "a.db"), HasSubstr("this one"));
  SQLite::Database((folder / "a.db").string(), SQLite::OPEN_READWRITE).exec("DELETE FROM meta");
  EXPECT_EQ(contents(folder / "a.db"), "");
}

TEST(SealedFiles, OurOwnChangesKeepTheSeals) {
  TemporaryFolder folder;
  fill(folder / "a.db");
  {
    Database database = Database::open_write(folder / "a.db");
    database.sql().exec("DELETE FROM meta WHERE key LIKE 'key1%'; VACUUM");
    database.sql().exec("BEGIN; PRAGMA cache_size = 4; UPDATE meta SET value = value || 'x'; ROLLBACK");
    database.sql().exec("UPDATE meta SET value = value || 'y'");
  }
  EXPECT_THAT(contents(folder / "a.db"), HasSubstr("vy|"));
  Database::open_read(folder / "a.db").check();
  const std::string bytes = bytes_of(folder / "a.db");
  for (std::size_t at = 0; at < bytes.size(); at += page_bytes)
    EXPECT_TRUE(is_sealed({reinterpret_cast<const unsigned char*>(&bytes[at]), page_bytes}, at / page_bytes + 1)) << at;
}

// The timeline reads pages through a mapping.
TEST(SealedFiles, MappedPagesAreCheckedToo) {
  TemporaryFolder folder;
  fill(folder / "a.db");
  std::string bytes = bytes_of(folder / "a.db");
  const auto mapped = [&] {
    Database database = Database::open_read(folder / "a.db");
    database.sql().exec("PRAGMA mmap_size = 1073741824");
    return contents(database);
  };
  EXPECT_EQ(mapped(), contents(folder / "a.db"));
  const std::size_t at = bytes.find(std::string(100, 'w'));
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'W';
  write(folder / "a.db", bytes);
  EXPECT_THROW(mapped(), DatabaseError);
}

}  // namespace
}  // namespace ddpprof::store
