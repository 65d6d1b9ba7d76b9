// Databases out as a Chrome trace and back: the same rows, and the same bytes when they are exported again.
#include <gmock/gmock.h>

#include <cstdlib>

#include "analysis/import/load/import.hpp"
#include "tests/analysis/import/own/round_trip.hpp"

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;

class ChromeRoundTrip : public RoundTrip {
 protected:
  // Exports, restores, exports again.
  void go_round(store::Database& database) override {
    export_::export_chrome(database, folder_ / "first.json");
    ASSERT_EQ(import::own_export_kind(folder_ / "first.json"), import::OwnExport::chrome);
    store::Database restored = empty();
    const import::Restored result = import::restore_chrome(restored, folder_ / "first.json");
    restored.finish_load();
    EXPECT_EQ(result.left_out, std::vector<std::string>{});
    expect_equal(restored, database, false);
    export_::export_chrome(restored, folder_ / "second.json");
    const std::string first = bytes_of(folder_ / "first.json"), second = bytes_of(folder_ / "second.json");
    const auto differ = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
    const auto at = static_cast<std::size_t>(differ.first - first.begin());
    EXPECT_TRUE(first == second) << first.substr(at > 100 ? at - 100 : 0, 300) << "\n-- and then --\n"
                                 << second.substr(at > 100 ? at - 100 : 0, 300);
    restored.check();
  }
};

TEST_F(ChromeRoundTrip, OfAnEmptyDatabase) {
  store::Database database = empty("nothing.db");
  go_round(database);
}

TEST_F(ChromeRoundTrip, OfARun) {
  SyntheticRun run(folder_ / "run.db");
  run.fill();
  go_round(run.database);
}

TEST_F(ChromeRoundTrip, OfARunWithRawEventsOfEveryKindAndClocksThatDrift) {
  store::Database database = filled(folder_ / "run.db");
  go_round(database);
  const auto tables = contents(database, true);
  for (const store::Table& table : store::tables())
    EXPECT_FALSE(tables.at(std::string(table.name)).empty()) << table.name << " was not put to the test";
  const std::string text = bytes_of(folder_ / "first.json");
  EXPECT_NE(text.find("\"args\":{\"ddpprof\":{\"start_ns\":"), std::string::npos) << "no time that is ambiguous";
  EXPECT_NE(text.find("\"args\":{\"ddpprof\":{\"end_ns\":"), std::string::npos) << "no end that is ambiguous";
}

TEST_F(ChromeRoundTrip, OfWhatNcclChose) {
  SyntheticRun run(folder_ / "run.db");
  run.fill();
  run.database.sql().exec(
      "UPDATE collective SET datatype = 'float32', algorithm = 'RING', protocol = 'LL128', channels = 24 "
      "WHERE sequence % 2 = 0");
  go_round(run.database);
}

TEST_F(ChromeRoundTrip, OfRawEventsThatAShardSaysItHasNot) {
  store::Database database = filled(folder_ / "run.db");
  database.sql().exec("UPDATE shard SET raw_kept = 0");
  go_round(database);
}

TEST_F(ChromeRoundTrip, OfAnImportOfAnA100sTrace) { go_round_imported("a100_ddp_rank0of2.json.gz"); }
TEST_F(ChromeRoundTrip, OfAnImportOfAV100sTrace) { go_round_imported("v100_ddp_rank1of2.json.gz"); }
TEST_F(ChromeRoundTrip, OfAnImportOfAnNsightExport) { go_round_imported("two_gpus_nsys.sqlite"); }

// Longer than one member of the file may be: in parts, of which one ends within a character.
TEST_F(ChromeRoundTrip, OfTextsThatAreLongerThanAReadersBuffer) {
  SyntheticRun run(folder_ / "run.db");
  run.fill();
  std::string text, bytes;
  for (int i = 0; i < 400'000; ++i) text += i % 7 == 0 ? "\n" : "é\"";
  for (int i = 0; i < 3'000'000; ++i) bytes += static_cast<char>(i % 251 + 1);
  SQLite::Statement update(run.database.sql(), "UPDATE scenario SET source = ?, resolved = ?");
  update.bind(1, text);
  update.bind(2, bytes);
  update.exec();
  SQLite::Statement rows(run.database.sql(), "INSERT INTO parameter VALUES (1, ?, 'a name of some length', 1, 4)");
  store::BulkLoad load(run.database);
  for (int i = 0; i < 20'000; ++i) {
    rows.bind(1, i);
    rows.exec();
    rows.reset();
  }
  load.commit();
  go_round(run.database);
}

// Clocks that never run, run backwards, or lie at the ends of what 64 bits hold.
TEST_F(ChromeRoundTrip, OfClocksThatMakeNoSense) {
  for (const double drift : {-1e9, -2e9, 5e8, 1e-3, -999'999'999.0}) {
    SyntheticRun run(folder_ / "run.db");
    run.fill();
    SQLite::Statement update(run.database.sql(), "UPDATE shard SET clock_drift_ppb = ?, clock_at_ns = -5");
    update.bind(1, drift);
    update.exec();
    go_round(run.database);
  }
}

TEST_F(ChromeRoundTrip, OfTimesSince1970AndAClockFarFromIt) {
  SyntheticRun run(folder_ / "run.db");
  run.fill();
  run.database.sql().exec(
      "UPDATE step SET start_ns = start_ns + 1700000000000000001 WHERE shard_id = 2;"
      "UPDATE collective SET start_ns = start_ns + 1700000000000000001, end_ns = end_ns + 1700000000000000001, "
      "launch_ns = launch_ns + 1700000000000000001 WHERE shard_id = 2;"
      "UPDATE shard SET clock_offset_ns = -1699999999123456789, clock_drift_ppb = -31.25, clock_at_ns = "
      "1700000000500000000 WHERE id = 2");
  go_round(run.database);
}

// Another program may set lines and spaces anew; the values are the same.
TEST_F(ChromeRoundTrip, OfAFileThatWasIndented) {
  store::Database database = filled(folder_ / "run.db");
  export_::export_chrome(database, folder_ / "first.json");
  const std::string text = bytes_of(folder_ / "first.json");
  std::string indented;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\' || (i > 1 && text[i - 2] == '\\'))) inside = !inside;
    indented += text[i];
    if (!inside && (text[i] == ',' || text[i] == ':')) indented += "\n\t ";
  }
  std::ofstream(folder_ / "indented.json", std::ios::binary) << indented;
  ASSERT_EQ(import::own_export_kind(folder_ / "indented.json"), import::OwnExport::chrome);
  store::Database restored = empty();
  import::restore_chrome(restored, folder_ / "indented.json");
  expect_equal(restored, database, false);
}

// Deeper than any stack: shown as the text that it is.
TEST_F(ChromeRoundTrip, OfPayloadsThatNestDeep) {
  SyntheticRun run(folder_ / "run.db");
  run.fill();
  run.database.sql().exec("UPDATE shard SET raw_kept = 1 WHERE id = 2");
  store::StringInterner strings(run.database);
  const std::int64_t name = strings.intern("deep");
  store::Inserter<store::RangeRow> ranges(run.database);
  std::int64_t at = 1000 * ms;
  const auto nested = [](const std::string& open, const std::string& close, int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += open;
    text += "1";
    for (int i = 0; i < depth; ++i) text += close;
    return text;
  };
  for (const int depth : {1, 63, 64, 65, 1023, 1024, 50'000})
    for (const std::string& payload :
         {nested("[", "]", depth), nested("{\"a\":", "}", depth), nested("[", "", depth)}) {
      ranges.insert({2, 77, name, {}, store::RangeKind::push_pop, 0, at, at + 1, std::string_view(payload)});
      at += 10;
    }
  go_round(run.database);
  const std::string text = bytes_of(folder_ / "first.json");
  EXPECT_NE(text.find("\"args\":{\"payload\":" + nested("[", "]", 64)), std::string::npos);
  EXPECT_NE(text.find("\"args\":{\"payload\":\"" + nested("[", "]", 65)), std::string::npos);
}

TEST_F(ChromeRoundTrip, WhichFilesAreOurs) {
  using import::OwnExport;
  const auto kind = [&](const std::string& text) {
    std::ofstream(folder_ / "file.json", std::ios::binary) << text;
    return import::own_export_kind(folder_ / "file.json");
  };
  EXPECT_EQ(kind(R"({"ddpprof":{"format":1}})"), OwnExport::chrome);
  EXPECT_EQ(kind("\xEF\xBB\xBF { \"ddpprof\" : { } }"), OwnExport::chrome);
  EXPECT_EQ(kind(R"({"baseTimeNanoseconds":0,"ddpprof":{}})"), OwnExport::chrome);
  EXPECT_EQ(kind(R"({"traceEvents":[{"ddpprof":{}}],"ddpprof":{}})"), OwnExport::none);
  EXPECT_EQ(kind(R"({"program":"ddpprof","a":{}})"), OwnExport::none);
  EXPECT_EQ(kind(R"({"ddpprof":1})"), OwnExport::none);
  EXPECT_EQ(kind(R"([{"ddpprof":{}}])"), OwnExport::none);
  EXPECT_EQ(kind(""), OwnExport::none);
}

}  // namespace
}  // namespace ddpprof::test
