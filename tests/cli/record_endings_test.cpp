// For every way in which a job can end: its exit code and output are the same as without a recording, and the recorded
// part is a valid database.
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/command_line.hpp"

namespace ddpprof {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

struct Ending {
  const char* way;
  bool in_order;  // the rank's process closed its shard
  int steps = 5;
};

void PrintTo(const Ending& ending, std::ostream* out) { *out << ending.way; }

class RecordEndings : public testing::TestWithParam<Ending> {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ddpprof_endings_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Runs as the only rank, so that helpers and attempts are distinguished, without core files. LeakSanitizer ends
  // differently while threads run.
  std::vector<std::string> job() const {
    return {"sh", "-c",
            "ulimit -c 0; exec env RANK=0 WORLD_SIZE=1 ASAN_OPTIONS=detect_leaks=0 "
            "ASAN_OPTIONS=detect_leaks=0 " DDPPROF_ENDING_JOB " " +
                std::string(GetParam().way)};
  }
  std::string value(const std::string& sql) const {
    store::Database database = store::Database::open_read(folder_ / "job.db");
    SQLite::Statement query(database.sql(), sql);
    return query.executeStep() ? query.getColumn(0).getString() : "";
  }

  fs::path folder_;
};

TEST_P(RecordEndings, CodeWordsAndWhatWasRecordedStay) {
  const Outcome bare = test::run_program(job());
  std::vector<std::string> arguments = {"record", "--out", (folder_ / "job.db").string(), "--"};
  for (const std::string& word : job()) arguments.push_back(word);
  const Outcome recorded = test::run_ddpprof(arguments);

  EXPECT_EQ(recorded.code, bare.code) << recorded.messages;
  EXPECT_EQ(recorded.out, bare.out);
  ASSERT_TRUE(fs::exists(folder_ / "job.db")) << recorded.messages;
  EXPECT_EQ(value("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(value("SELECT count(*) FROM step"), std::to_string(GetParam().steps));
  EXPECT_EQ(value("SELECT count(*) FROM step WHERE forward_ns >= 300000 AND backward_ns >= 600000"),
            std::to_string(GetParam().steps));
  EXPECT_EQ(value("SELECT count(*) FROM diagnostic WHERE code = 'unclosed_shard'"), GetParam().in_order ? "0" : "1")
      << recorded.messages;
  EXPECT_EQ(value("SELECT count(*) FROM diagnostic WHERE code = 'shard_damaged'"), "0");
  const Outcome report = test::run_ddpprof({"report", (folder_ / "job.db").string()});
  EXPECT_EQ(report.code, 0) << report.messages;
}

// A child that first annotates after its parent has ended does not replace the rank.
TEST(RecordEndingsOfParents, AChildThatGoesOnIsAHelper) {
  for (const std::string way : {"child-goes-on", "daemon"}) {
    const fs::path database = fs::temp_directory_path() / ("ddpprof_child_" + std::to_string(getpid()) + way + ".db");
    const Outcome outcome = test::run_ddpprof({"record", "--out", database.string(), "--", "sh", "-c",
                                               "RANK=0 WORLD_SIZE=1 " DDPPROF_ENDING_JOB " " + way + "; sleep 0.5"});
    ASSERT_TRUE(fs::exists(database)) << outcome.messages;
    {
      store::Database opened = store::Database::open_read(database);
      SQLite::Statement steps(opened.sql(), "SELECT count(*) FROM step");
      ASSERT_TRUE(steps.executeStep());
      EXPECT_EQ(steps.getColumn(0).getInt(), 5) << way << outcome.messages;
      SQLite::Statement helpers(opened.sql(), "SELECT count FROM diagnostic WHERE code = 'helpers_left_out'");
      EXPECT_TRUE(helpers.executeStep()) << way;
    }
    fs::remove(database);
    fs::remove_all(database.string() + ".recording");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, RecordEndings,
    testing::Values(Ending{"return", true}, Ending{"code", true}, Ending{"_exit", false}, Ending{"quick_exit", false},
                    Ending{"exit-in-thread", true}, Ending{"at-exit", true}, Ending{"exception", false},
                    Ending{"abort", false}, Ending{"segfault", false}, Ending{"stack-overflow", false},
                    Ending{"terminated", false}, Ending{"killed", false}, Ending{"killed-in-ranges", false},
                    Ending{"alarm", false}, Ending{"broken-pipe", false},
                    Ending{"killed-while-threads-annotate", false}, Ending{"returns-while-threads-annotate", true},
                    Ending{"signal-handler", false}, Ending{"stopped-and-continued", true}, Ending{"exec", true},
                    Ending{"exec-another", false}, Ending{"child-ends-it", true}, Ending{"child-crashes", true},
                    Ending{"child-goes-on", true}, Ending{"daemon", true}, Ending{"out-of-memory", false},
                    Ending{"no-more-disk", true}, Ending{"files-closed", true}, Ending{"folder-removed", true}),
    [](const auto& instance) {
      std::string name = instance.param.way;
      std::erase_if(name, [](char c) { return c == '_' || c == '-'; });
      return name;
    });

}  // namespace
}  // namespace ddpprof
