// Traces of ranks that communicate, but whose number is not recorded: torch before 2.1 writes no distributedInfo, and
// its collectives have no group.
#include <gmock/gmock.h>

#include "analysis/import/files/import_files.hpp"
#include "analysis/report/report.hpp"
#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The sound trace of a rank: in each step of 1000 us, 50 us of an all-reduce are exposed.
std::string without_world() {
  TraceText trace = sound_trace(0, 2, 8);
  trace.before.pop_back();
  for (std::string& event : trace.events)
    if (event.find("Group size") != std::string::npos)
      event = replaced(event, R"("Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]", )", "");
  return trace.text();
}

struct Answered {
  explicit Answered(const std::vector<std::string>& names, std::optional<std::int64_t> workers = std::nullopt)
      : database(store::Database::create(folder.path() / "i.db")) {
    ImportOptions options;
    for (const std::string& name : names) options.files.push_back(folder.write(name, without_world()));
    options.workers = workers;
    imported = import_into(database, options);
    database.finish_load();
    fit_imports(database);
    report = report::build_report(database, "summary");
    for (const report::Row& row : report.tables.at(0).rows) text += std::get<std::string>(row.at(1)) + "\n";
  }
  std::string message(const std::string& code) const {
    const auto found = imported.told.find(code);
    return found == imported.told.end() ? "" : found->second.message;
  }
  std::string value(const char* sql) {
    SQLite::Statement query(database.sql(), sql);
    return query.executeStep() ? query.getColumn(0).getString() : "";
  }

  Folder folder;
  store::Database database;
  Imported imported;
  report::Report report;
  std::string text;  // of the answer
};

TEST(UnknownWorkers, OneFileHasNoThroughputButItsExposedCommunication) {
  for (const char* name : {"trace.json", "rank3.json"}) {
    Answered one({name});
    EXPECT_EQ(one.imported.error, "");
    EXPECT_EQ(one.imported.result.world_size, 0) << name;
    EXPECT_THAT(one.message("world_size_unknown"), HasSubstr("number of ranks N is not recorded")) << name;
    EXPECT_EQ(one.imported.told.count("rank_missing"), 0U) << name;
    EXPECT_THAT(one.text, AllOf(HasSubstr("N unknown: 1 ms per step"), HasSubstr("5.00 % exposed communication"),
                                Not(HasSubstr("samples/s")), Not(HasSubstr("learning rate")), Not(HasSubstr("rule"))))
        << name;
    const report::Table& notices = one.report.tables.at(2);
    const auto warning = std::ranges::find_if(notices.rows, [&](const report::Row& row) {
      return report::value_of<std::string>(notices, row, "code") == "world_size_unknown";
    });
    ASSERT_NE(warning, notices.rows.end()) << notices.name;
    EXPECT_EQ(report::value_of<std::string>(notices, *warning, "about"), "other N unknown") << name;
    EXPECT_EQ(one.value("SELECT count(*) FROM prediction"), "0") << name;
    EXPECT_EQ(one.value("SELECT sum(samples) FROM step"), "0") << name;
  }
}

TEST(UnknownWorkers, TheOptionGivesIt) {
  Answered one({"trace.json"}, 8);
  EXPECT_EQ(one.imported.result.world_size, 8);
  EXPECT_EQ(one.message("world_size_unknown"), "");
  EXPECT_THAT(one.message("rank_missing"), HasSubstr("of 8"));
  // 8 ranks with 32 samples per step of 1 ms
  EXPECT_THAT(one.text, AllOf(HasSubstr("N = 8: 1 ms per step"), HasSubstr("256000 samples/s")));
}

TEST(UnknownWorkers, AllFilesFromRankZeroOnAreAssumedToBeAllRanksAndThatIsSaid) {
  const Answered two({"rank0.json", "rank1.json"});
  EXPECT_EQ(two.imported.result.world_size, 2);
  EXPECT_THAT(two.message("world_size_by_files"), HasSubstr("N = 2"));
  const Answered gap({"rank0.json", "rank2.json"});
  EXPECT_EQ(gap.imported.result.world_size, 0);
  EXPECT_NE(gap.message("world_size_unknown"), "");
}

TEST(UnknownWorkers, TheOptionMustAgreeWithWhatAFileStates) {
  const Folder folder;
  ImportOptions options;
  options.workers = 4;
  const Imported imported = import_files(folder, {folder.write("a.json", sound_trace(0, 2).text())}, options);
  EXPECT_THAT(imported.error, AllOf(HasSubstr("--workers 4"), HasSubstr("2 ranks")));
}

}  // namespace
}  // namespace ddpprof::import
