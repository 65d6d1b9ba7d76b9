// CSV exports that were edited, cut short or mixed up: each is refused, and the message says where.
#include <gmock/gmock.h>

#include "tests/analysis/import/own/round_trip.hpp"

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;

class DamagedCsv : public RoundTrip {
 protected:
  void SetUp() override {
    RoundTrip::SetUp();
    store::Database database = filled(folder_ / "run.db");
    export_::export_csv(database, folder_ / "csv");
  }

  fs::path file(const std::string& table) const { return folder_ / "csv" / (table + ".csv"); }

  void replace(const std::string& table, const std::string& what, const std::string& with) const {
    std::string text = bytes_of(file(table));
    const std::size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what << " in\n" << text.substr(0, 2000);
    std::ofstream(file(table), std::ios::binary) << text.replace(at, what.size(), with);
  }

  // What a restoration says; "" when it goes through. Nothing stays in the database.
  std::string said() const {
    store::Database restored = empty();
    try {
      import::restore_csv(restored, folder_ / "csv");
      return "";
    } catch (const import::OwnExportError& error) {
      EXPECT_EQ(restored.sql().execAndGet("SELECT COUNT(*) FROM measurement").getInt(), 0);
      return error.what();
    }
  }
};

using testing::AllOf;
using testing::HasSubstr;

TEST_F(DamagedCsv, IsSoundBeforeItIsDamaged) { EXPECT_EQ(said(), ""); }

TEST_F(DamagedCsv, AMissingTable) {
  fs::remove(file("collective"));
  EXPECT_THAT(said(), AllOf(HasSubstr("collective.csv: no such file"), HasSubstr("schema version 7")));
}

TEST_F(DamagedCsv, AnEmptyFile) {
  std::ofstream(file("phase"), std::ios::trunc).close();
  EXPECT_THAT(said(), AllOf(HasSubstr("phase.csv: empty"), HasSubstr("headings")));
}

TEST_F(DamagedCsv, AColumnOfAnOlderVersionIsMissing) {
  replace("measurement", ",machines", "");
  EXPECT_THAT(said(), AllOf(HasSubstr("measurement.csv, line 1: column machines of table measurement is missing"),
                            HasSubstr("schema version 7"), HasSubstr("older version")));
}

TEST_F(DamagedCsv, AnUnknownColumn) {
  replace("step", "duration_ns", "duration_ms");
  EXPECT_THAT(said(), HasSubstr("step.csv, line 1: table step has no column \"duration_ms\""));
}

TEST_F(DamagedCsv, AColumnTwice) {
  replace("step", "forward_ns,backward_ns", "forward_ns,forward_ns");
  EXPECT_THAT(said(), HasSubstr("step.csv, line 1: column forward_ns stands twice"));
}

TEST_F(DamagedCsv, ColumnsOfASpreadsheetThatSeparatesBySemicolons) {
  std::string text = bytes_of(file("memory"));
  std::replace(text.begin(), text.end(), ',', ';');
  std::ofstream(file("memory"), std::ios::binary) << text;
  EXPECT_THAT(said(), HasSubstr("memory.csv, line 1: table memory has no column"));
}

TEST_F(DamagedCsv, AWordWhereANumberIsWanted) {
  replace("memory", ",1000\r\n", ",1e3 bytes\r\n");
  EXPECT_THAT(said(),
              HasSubstr("memory.csv, line 2: column peak_bytes of table memory is \"1e3 bytes\" (expected a whole "
                        "number)"));
}

TEST_F(DamagedCsv, AFractionWhereAWholeNumberIsWanted) {
  replace("memory", ",1000\r\n", ",1000.5\r\n");
  EXPECT_THAT(said(), HasSubstr("memory.csv, line 2: column peak_bytes of table memory is \"1000.5\""));
}

TEST_F(DamagedCsv, ANumberTooLargeForItsColumn) {
  replace("memory", ",1000\r\n", ",9223372036854775808\r\n");
  EXPECT_THAT(said(), HasSubstr("is \"9223372036854775808\" (expected a whole number)"));
}

TEST_F(DamagedCsv, ANumberThatIsNone) {
  replace("prediction", ",1280,", ",nan,");
  EXPECT_THAT(said(), HasSubstr("prediction.csv, line 2: column throughput of table prediction is nan (expected a "
                                "number)"));
}

TEST_F(DamagedCsv, NoValueWhereThereMustBeOne) {
  replace("memory", ",1000\r\n", ",\r\n");
  EXPECT_THAT(said(), HasSubstr("memory.csv, line 2: column peak_bytes of table memory has no value (expected a whole "
                                "number)"));
}

TEST_F(DamagedCsv, ARowOfAnotherLength) {
  replace("memory", ",1000\r\n", ",1000,7\r\n");
  EXPECT_THAT(said(), HasSubstr("memory.csv, line 2: a row of table memory has 6 cells (expected 5"));
}

TEST_F(DamagedCsv, AReferenceToNothing) {
  replace("bucket", "2,1,0,0,0", "77,1,0,0,0");
  EXPECT_THAT(said(), HasSubstr("bucket.csv, line 3: measurement_id 77 of table bucket refers to no row of table "
                                "measurement"));
}

TEST_F(DamagedCsv, TheSameKeyTwice) {
  replace("memory", "2,0,0,5,10", "2,0,-1,5,10");
  EXPECT_THAT(said(),
              AllOf(HasSubstr("memory.csv, line 3: a row of table memory is there already"), HasSubstr("memory.rank")));
}

TEST_F(DamagedCsv, CutShortWithinALine) {
  fs::resize_file(file("range"), fs::file_size(file("range")) - 4);
  EXPECT_THAT(said(), AllOf(HasSubstr("range.csv, line"), HasSubstr("the file ends within a line")));
}

TEST_F(DamagedCsv, CutShortWithinQuotes) {
  const std::string text = bytes_of(file("scenario"));
  fs::resize_file(file("scenario"), text.find("workload"));
  EXPECT_THAT(said(), AllOf(HasSubstr("scenario.csv, line 3"), HasSubstr("within quotes"), HasSubstr("line 2")));
}

TEST_F(DamagedCsv, TextBehindAQuote) {
  replace("scenario", "\"name: mnist-mlp", "\"name\": mnist-mlp");
  EXPECT_THAT(said(), HasSubstr("scenario.csv, line 2: text after a closing quote"));
}

TEST_F(DamagedCsv, AQuoteWithinAField) {
  replace("memory", ",1000\r\n", ",10\"00\r\n");
  EXPECT_THAT(said(), HasSubstr("memory.csv, line 2: a quote within a field"));
}

TEST_F(DamagedCsv, WhichFoldersAreOurs) {
  using import::OwnExport;
  EXPECT_EQ(import::own_export_kind(folder_ / "csv"), OwnExport::csv);
  fs::remove(file("meta"));
  EXPECT_EQ(import::own_export_kind(folder_ / "csv"), OwnExport::csv);
  EXPECT_THAT(said(), HasSubstr("meta.csv: no such file"));
  fs::remove(file("shard"));
  EXPECT_EQ(import::own_export_kind(folder_ / "csv"), OwnExport::none);
  EXPECT_EQ(import::own_export_kind(folder_ / "run.db"), OwnExport::none);
  EXPECT_EQ(import::own_export_kind(folder_ / "nothing"), OwnExport::none);
}

}  // namespace
}  // namespace ddpprof::test
