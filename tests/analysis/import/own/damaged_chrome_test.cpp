// Chrome exports that were cut short, edited, or written anew by a viewer: each is refused, and the message says where
// and what to do.
#include <gmock/gmock.h>

#include "tests/analysis/import/own/round_trip.hpp"

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;

class DamagedChrome : public RoundTrip {
 protected:
  void SetUp() override {
    RoundTrip::SetUp();
    store::Database database = filled(folder_ / "run.db");
    export_::export_chrome(database, folder_ / "trace.json");
    text_ = bytes_of(folder_ / "trace.json");
  }

  void replace(const std::string& what, const std::string& with) {
    const std::size_t at = text_.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    text_.replace(at, what.size(), with);
  }

  // Without the line that holds `what`, a whole event.
  void remove_line(const std::string& what) {
    const std::size_t at = text_.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    const std::size_t begin = text_.rfind('\n', at), end = text_.find('\n', at);
    text_.erase(begin, end - begin);
  }

  // What a restoration says; "" when it goes through. Nothing stays in the database.
  std::string said() const {
    std::ofstream(folder_ / "damaged.json", std::ios::binary) << text_;
    store::Database restored = empty();
    try {
      import::restore_chrome(restored, folder_ / "damaged.json");
      return "";
    } catch (const import::OwnExportError& error) {
      EXPECT_EQ(restored.sql().execAndGet("SELECT COUNT(*) FROM measurement").getInt(), 0);
      EXPECT_THAT(error.what(), testing::HasSubstr("damaged.json"));
      return error.what();
    }
  }

  std::string text_;
};

using testing::AllOf;
using testing::HasSubstr;

TEST_F(DamagedChrome, IsSoundBeforeItIsDamaged) { EXPECT_EQ(said(), ""); }

TEST_F(DamagedChrome, NestedDeeperThanAnyStack) {
  const std::string whole = text_, deep = std::string(100'000, '[') + std::string(100'000, ']');
  replace("\"bytes\":[1,2.5,null", "\"bytes\":" + deep + ",\"more\":[1,2.5,null");
  EXPECT_THAT(said(), AllOf(HasSubstr(", byte "), HasSubstr("nest deeper")));
  text_ = whole;
  replace("\"columns\":[", "\"columns\":[" + deep + ",");
  EXPECT_THAT(said(), AllOf(HasSubstr(", byte "), HasSubstr("nests deeper")));
}

TEST_F(DamagedChrome, CutShortAnywhere) {
  const std::string whole = text_;
  const std::size_t events = whole.find("traceEvents");
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{30}, events / 2, events, events + 5000, whole.size() / 2,
                                  whole.size() - 200, whole.size() - 5}) {
    text_ = whole.substr(0, bytes);
    EXPECT_THAT(said(), HasSubstr("cut short")) << bytes << " bytes";
  }
}

TEST_F(DamagedChrome, AnEventWasTakenOut) {
  remove_line("\"cat\":\"kernel\"");
  EXPECT_THAT(said(), AllOf(HasSubstr("5 rows of table kernel (expected 6"), HasSubstr("export the database again")));
}

TEST_F(DamagedChrome, ARowWasTakenOut) {
  replace("[2,0,0,5,10]", "[2,0,-1,null,1000]");
  EXPECT_THAT(said(), HasSubstr("a row of table memory is there already"));
}

TEST_F(DamagedChrome, AViewerLeftOutTheArguments) {
  replace(",\"grid\":1024", "");
  EXPECT_THAT(said(), AllOf(HasSubstr("byte "), HasSubstr("lacks the argument grid (expected a whole number)"),
                            HasSubstr("remove the member \"ddpprof\"")));
}

TEST_F(DamagedChrome, AViewerWroteNumbersAsTexts) {
  replace("\"grid\":1024", "\"grid\":\"1024\"");
  EXPECT_THAT(said(), HasSubstr("argument grid is no whole number"));
}

TEST_F(DamagedChrome, AViewerPutMembersIntoAnotherOrder) {
  const std::size_t begin = text_.find("\"ddpprof\":{"), end = text_.find('}', begin);
  const std::string marker = text_.substr(begin, end + 1 - begin);
  text_.erase(begin, marker.size() + 1);
  replace("\"displayTimeUnit\":\"ns\"", "\"displayTimeUnit\":\"ns\"," + marker);
  EXPECT_THAT(said(), HasSubstr("member \"ddpprof\" is not the first one"));
}

TEST_F(DamagedChrome, ASliceWasRenamed) {
  replace("\"name\":\"inner\\nline\",\"cat\":\"cpu_op\"", "\"name\":\"renamed\",\"cat\":\"cpu_op\"");
  EXPECT_THAT(said(), HasSubstr("the name is none of the table string's"));
}

TEST_F(DamagedChrome, AStepWasTakenOut) {
  remove_line("\"cat\":\"measured\"");
  EXPECT_THAT(said(), HasSubstr("step_id 2 is no step before this event"));
}

TEST_F(DamagedChrome, ATracksNameWasTakenOut) {
  remove_line("\"thread\":77");
  EXPECT_THAT(said(), HasSubstr("was not named before"));
}

TEST_F(DamagedChrome, AnotherVersionsExport) {
  replace("{\"format\":1,\"schema\":7}", "{\"format\":1,\"schema\":8}");
  EXPECT_THAT(said(), AllOf(HasSubstr("schema version 8 (expected format 1 and schema version 7)"),
                            HasSubstr("export the database again")));
}

TEST_F(DamagedChrome, AnEventOfAProcessThatIsNone) {
  replace("{\"ph\":\"X\",\"pid\":2", "{\"ph\":\"X\",\"pid\":99");
  EXPECT_THAT(said(), HasSubstr("process 99 is no row of table shard"));
}

TEST_F(DamagedChrome, AnEventWithoutAMoment) {
  replace("\"ts\":0.000", "\"ts\":\"soon\"");
  EXPECT_THAT(said(), HasSubstr("has a time that is no number"));
}

TEST_F(DamagedChrome, ABracketIsMissing) {
  replace("\"args\":{\"step\":0", "\"args\":\"step\":0");
  EXPECT_THAT(said(), AllOf(HasSubstr("byte "), HasSubstr("export the database again")));
}

TEST_F(DamagedChrome, AWordInARowOfNumbers) {
  replace("[2,0,0,5,10]", "[2,0,0,5,\"ten\"]");
  EXPECT_THAT(said(), HasSubstr("column peak_bytes of table memory is \"ten\" (expected a whole number)"));
}

TEST_F(DamagedChrome, AnEndThatIsNotThere) {
  remove_line("{\"ph\":\"e\"");
  EXPECT_THAT(said(), HasSubstr("asynchronous event"));
}

TEST_F(DamagedChrome, ACountThatWasEdited) {
  replace("\"kernel\":6", "\"kernel\":7");
  EXPECT_THAT(said(), HasSubstr("6 rows of table kernel (expected 7"));
}

TEST_F(DamagedChrome, AStepThatACollectiveRefersToIsNone) {
  replace("\"step_id\":6}", "\"step_id\":6000}");
  EXPECT_THAT(said(), HasSubstr("6000"));
}

// A value may change without anybody noticing, as with any text that is edited; nothing else may.
TEST_F(DamagedChrome, ALostByteAnywhereIsAnErrorOrOneValueThatChanged) {
  const std::string whole = text_;
  store::Database original = store::Database::open_read(folder_ / "run.db");
  const auto expected = contents(original, false);
  for (std::size_t at = 7; at < whole.size(); at += whole.size() / 150) {
    text_ = whole.substr(0, at) + whole.substr(at + 1);
    std::ofstream(folder_ / "damaged.json", std::ios::binary) << text_;
    store::Database restored = empty();
    try {
      import::restore_chrome(restored, folder_ / "damaged.json");
    } catch (const import::OwnExportError&) {
      continue;
    }
    const auto found = contents(restored, false);
    for (const auto& [table, rows] : expected)
      EXPECT_EQ(found.at(table).size(), rows.size()) << table << ", byte " << at;
  }
}

}  // namespace
}  // namespace ddpprof::test
