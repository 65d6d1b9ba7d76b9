// Databases out as CSV tables and back: the same rows, and the same bytes when they are exported again.
#include <gmock/gmock.h>

#include <cstdlib>

#include "analysis/import/load/import.hpp"
#include "tests/analysis/import/own/round_trip.hpp"

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;

class CsvRoundTrip : public RoundTrip {
 protected:
  // Exports, restores, exports again.
  void go_round(store::Database& database) override {
    const std::int64_t rows = export_::export_csv(database, folder_ / "first");
    store::Database restored = empty();
    const import::Restored result = import::restore_csv(restored, folder_ / "first");
    restored.finish_load();
    EXPECT_EQ(result.rows, rows);
    EXPECT_EQ(result.left_out, std::vector<std::string>{});
    expect_equal(restored, database, true);
    export_::export_csv(restored, folder_ / "second");
    for (const store::Table& table : store::tables()) {
      const std::string name = std::string(table.name) + ".csv";
      EXPECT_EQ(bytes_of(folder_ / "first" / name), bytes_of(folder_ / "second" / name)) << name;
    }
    SQLite::Statement indexes(restored.sql(), "SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND sql <> ''");
    ASSERT_TRUE(indexes.executeStep());
    EXPECT_EQ(indexes.getColumn(0).getInt64(), static_cast<std::int64_t>(store::indexes().size()));
    restored.check();
  }
};

TEST_F(CsvRoundTrip, OfAnEmptyDatabase) {
  store::Database database = empty("nothing.db");
  go_round(database);
}

TEST_F(CsvRoundTrip, OfARunWithRawEventsOfEveryKind) {
  store::Database database = filled(folder_ / "run.db");
  go_round(database);
  const auto tables = contents(database, true);
  for (const store::Table& table : store::tables())
    EXPECT_FALSE(tables.at(std::string(table.name)).empty()) << table.name << " was not put to the test";
}

TEST_F(CsvRoundTrip, OfWhatNcclChose) {
  SyntheticRun run(folder_ / "run.db");
  run.fill();
  run.database.sql().exec(
      "UPDATE collective SET datatype = 'float32', algorithm = 'RING', protocol = 'LL128', channels = 24 "
      "WHERE sequence % 2 = 0");
  go_round(run.database);
}

TEST_F(CsvRoundTrip, OfAnImportOfAnA100sTrace) { go_round_imported("a100_ddp_rank0of2.json.gz"); }
TEST_F(CsvRoundTrip, OfAnImportOfAV100sTrace) { go_round_imported("v100_ddp_rank1of2.json.gz"); }
TEST_F(CsvRoundTrip, OfAnImportOfAnNsightExport) { go_round_imported("two_gpus_nsys.sqlite"); }

TEST_F(CsvRoundTrip, APayloadsTypeStandsInItsField) {
  store::Database database = filled(folder_ / "run.db");
  export_::export_csv(database, folder_ / "first");
  const std::string ranges = bytes_of(folder_ / "first" / "range.csv");
  EXPECT_NE(ranges.find(",1000001001,5\r\n"), std::string::npos);      // a whole number
  EXPECT_NE(ranges.find(",1000000220,\"5\"\r\n"), std::string::npos);  // a text
  EXPECT_NE(ranges.find(",1000000240,5.0\r\n"), std::string::npos);    // a real number
  EXPECT_NE(ranges.find(",1000000300,\"\"\r\n"), std::string::npos);   // an empty text
}

TEST_F(CsvRoundTrip, LinesOfAnEditorWithoutCarriageReturnsAndAByteOrderMarkReadAlike) {
  test::SyntheticRun run(folder_ / "run.db");
  run.fill();
  export_::export_csv(run.database, folder_ / "first");
  for (const store::Table& table : store::tables()) {
    if (table.name == "scenario" || table.name == "string") continue;  // their texts may have line breaks
    const fs::path file = folder_ / "first" / (std::string(table.name) + ".csv");
    std::string text = bytes_of(file), plain = "\xEF\xBB\xBF";
    for (const char c : text)
      if (c != '\r') plain += c;
    std::ofstream(file, std::ios::binary) << plain;
  }
  store::Database restored = empty();
  import::restore_csv(restored, folder_ / "first");
  expect_equal(restored, run.database, true);
}

TEST_F(CsvRoundTrip, WhatIsNoTableIsNamedAndLeftOut) {
  store::Database database = empty("nothing.db");
  export_::export_csv(database, folder_ / "first");
  std::ofstream(folder_ / "first" / "notes.csv") << "a,b\n";
  store::Database restored = empty();
  EXPECT_THAT(import::restore_csv(restored, folder_ / "first").left_out, testing::ElementsAre("notes.csv"));
}

}  // namespace
}  // namespace ddpprof::test
