// ddpprof record, as a user calls it: the job does not change, and a database is made.
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/command_line.hpp"

namespace ddpprof {
namespace {

namespace fs = std::filesystem;
using test::CommandLine;
using test::Outcome;
using test::run_ddpprof;
using testing::HasSubstr;
using testing::Not;

class RecordCommand : public CommandLine {
 protected:
  void SetUp() override {
    out_ = (folder_ / "job.db").string();
    for (const char* end : {"", ".d", ".recording"}) fs::remove_all(out_ + end);
  }
  Outcome record(const std::vector<std::string>& command, std::vector<std::string> options = {}) const {
    std::vector<std::string> arguments = {"record", "--out", out_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.push_back("--");
    arguments.insert(arguments.end(), command.begin(), command.end());
    return run_ddpprof(arguments);
  }
  std::vector<std::string> rows(const std::string& sql) const {
    store::Database database = store::Database::open_read(out_);
    SQLite::Statement query(database.sql(), sql);
    std::vector<std::string> values;
    while (query.executeStep()) values.push_back(query.getColumn(0).getString());
    return values;
  }
  bool left(const char* end) const { return fs::exists(out_ + end); }

  std::string out_;
  std::string job_ = DDPPROF_RECORDED_JOB;
};

TEST_F(RecordCommand, AScriptsRanksAreOneMeasurement) {
  const std::string script = "RANK=0 WORLD_SIZE=2 " + job_ + " 5 & RANK=1 WORLD_SIZE=2 " + job_ + " 5 & wait";
  const Outcome outcome = record({"sh", "-c", script});
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_EQ(outcome.out, "the job's own words\nthe job's own words\n") << "ddpprof adds nothing to the job's output";
  EXPECT_THAT(outcome.messages, HasSubstr("of 2 ranks of 2, 10 steps"));
  EXPECT_THAT(outcome.messages, HasSubstr("Steps, measured and predicted"));
  EXPECT_EQ(rows("SELECT rank FROM shard ORDER BY rank"), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(rows("SELECT model FROM measurement"), (std::vector<std::string>{"job"}));
  EXPECT_EQ(rows("SELECT count(*) FROM step WHERE forward_ns >= 1000000 AND backward_ns >= 2000000"),
            (std::vector<std::string>{"10"}));
  EXPECT_FALSE(left(".recording"));
  EXPECT_FALSE(left(".d"));
}

TEST_F(RecordCommand, AppendAddsTheMeasurement) {
  ASSERT_EQ(record({"sh", "-c", "RANK=0 WORLD_SIZE=1 " + job_ + " 5"}).code, 0);
  const auto append = [&](const std::string& to, const std::string& script) {
    return run_ddpprof({"record", "--append", to, "--", "sh", "-c", script});
  };
  const Outcome outcome =
      append(out_, "RANK=0 WORLD_SIZE=2 " + job_ + " 5 & RANK=1 WORLD_SIZE=2 " + job_ + " 5 & wait");
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_THAT(outcome.messages, HasSubstr("measurement 2: N = 2"));
  EXPECT_EQ(rows("SELECT world_size || ' ' || model || ' ' || repeat FROM measurement ORDER BY id"),
            (std::vector<std::string>{"1 job 0", "2 job 0"}));
  EXPECT_FALSE(left(".recording"));
  for (const std::string& to : {database_, (folder_ / "none.db").string()}) {
    const Outcome refused = append(to, "echo the job ran");
    EXPECT_EQ(refused.code, 2) << refused.messages;
    EXPECT_EQ(refused.out, "") << "refused before the job runs";
  }
}

TEST_F(RecordCommand, TheJobsEndIsOurs) {
  EXPECT_EQ(record({job_, "3", "7"}).code, 7);
  EXPECT_EQ(rows("SELECT count(*) FROM step"), (std::vector<std::string>{"3"})) << "also for a job that failed";
  SetUp();
  const Outcome killed = record({"sh", "-c", job_ + " 3; kill -SEGV $$"});
  EXPECT_EQ(killed.code, 128 + 11);
  EXPECT_THAT(killed.messages, HasSubstr("the job was ended by signal 11"));
  EXPECT_TRUE(left(""));
  SetUp();
  EXPECT_EQ(record({"no-such-command-of-anyone"}).code, 127);
  EXPECT_EQ(record({(folder_ / "run.db").string()}).code, 126);
  EXPECT_FALSE(left(""));
  EXPECT_FALSE(left(".recording"));
}

TEST_F(RecordCommand, TheJobsWordsAreItsOwn) {
  const Outcome outcome =
      record({"printf", "<%s>", "[1,2]", "[]", "", "--", "--out", "-h", "[a]", "{b,c}", "%", "\"q\"", "command"});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_EQ(outcome.out, "<[1,2]><[]><><--><--out><-h><[a]><{b,c}><%><\"q\"><command>");
  EXPECT_EQ(run_ddpprof({"record", "--out", out_, "--"}).code, 2);
}

TEST_F(RecordCommand, AJobWithoutAnnotationsRunsAllTheSame) {
  const Outcome outcome = record({"sh", "-c", "echo fine; exit 3"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "fine\n");
  EXPECT_THAT(outcome.messages, HasSubstr("nothing was recorded"));
  EXPECT_FALSE(left(""));
  EXPECT_FALSE(left(".recording"));
}

TEST_F(RecordCommand, AChildOfARankIsNoRank) {
  const Outcome outcome = record({"env", "RANK=0", "WORLD_SIZE=1", job_, "4", "0", "fork"});
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_EQ(rows("SELECT count(*) FROM shard"), (std::vector<std::string>{"1"}));
  EXPECT_EQ(rows("SELECT count(*) FROM step"), (std::vector<std::string>{"4"}));
  EXPECT_EQ(rows("SELECT count FROM diagnostic WHERE code = 'helpers_left_out'"), (std::vector<std::string>{"1"}));
}

TEST_F(RecordCommand, OtherLaunchersNumberTheirRanksToo) {
  for (const auto& [rank, size] : {std::pair{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=4"},
                                   {"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=4"},
                                   {"PMI_RANK=1", "PMI_SIZE=4"}}) {
    SetUp();
    const Outcome outcome = record({"env", "-u", "RANK", "-u", "WORLD_SIZE", rank, size, job_, "3"});
    ASSERT_EQ(outcome.code, 0) << outcome.messages;
    EXPECT_EQ(rows("SELECT rank FROM shard"), (std::vector<std::string>{"1"})) << rank;
    EXPECT_EQ(rows("SELECT world_size FROM measurement"), (std::vector<std::string>{"4"})) << rank;
  }
}

// In a batch script Slurm's variables describe the script. torchrun's variables are never combined with those of
// another launcher.
TEST_F(RecordCommand, ABatchScriptsVariablesAreNoRank) {
  Outcome outcome = record({"env", "-u", "RANK", "-u", "WORLD_SIZE", "SLURM_PROCID=0", "SLURM_NTASKS=8", job_, "3"});
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_EQ(rows("SELECT world_size FROM measurement"), (std::vector<std::string>{"1"}));
  SetUp();
  outcome = record({"env", "-u", "WORLD_SIZE", "RANK=0", "OMPI_COMM_WORLD_SIZE=4", job_, "3"});
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_EQ(rows("SELECT world_size FROM measurement"), (std::vector<std::string>{"1"}));
}

TEST_F(RecordCommand, ItsReadersEndIsNotTheJobs) {
  const std::string script = "exec 2> >(exit 0); sleep 0.2; exec timeout 60 " +
                             test::shell_quoted(test::built_program()) + " record --out " + out_ + " -- sh -c '" +
                             job_ + " 3 0; sleep 0.2; exit 3'";
  const int status = std::system(("bash -c " + test::shell_quoted(script) + " > /dev/null").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(rows("SELECT count(*) FROM step"), (std::vector<std::string>{"3"}));
  EXPECT_FALSE(left(".recording"));
}

TEST_F(RecordCommand, WhatStillRunsIsSaid) {
  const Outcome outcome = record({"sh", "-c", job_ + " 3; " + job_ + " 2000 > /dev/null 2>&1 & sleep 0.5"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.messages, HasSubstr("1 process of the job still runs"));
  EXPECT_TRUE(left(".recording"));
}

TEST_F(RecordCommand, WhatIsInTheWayIsSaidBeforeTheJobRuns) {
  const std::string ran = (folder_ / "ran").string();
  const auto refused = [&](const std::vector<std::string>& options, const std::string& why) {
    const Outcome outcome = record({"touch", ran}, options);
    EXPECT_EQ(outcome.code, 2) << outcome.messages;
    EXPECT_THAT(outcome.messages, HasSubstr(why));
    EXPECT_FALSE(fs::exists(ran)) << why;
  };
  file("job.db", test::read_all(database_));
  refused({}, "exists");
  file("job.db", "text of the user");
  refused({"--overwrite"}, "is not a database of ddpprof");
  fs::remove(out_);
  fs::create_directory(out_ + ".recording");
  std::ofstream(out_ + ".recording/of-the-user") << "text";
  refused({}, "it has shards of another ddpprof record");
  fs::remove_all(out_ + ".recording");
  refused({"--max-mb", "2000000"}, "--max-mb");
  refused({"--format", "nonsense"}, "--format");
  out_ = (folder_ / "no-such-folder" / "job.db").string();
  refused({}, "is not a folder");
  EXPECT_EQ(run_ddpprof({"record"}).code, 2);
}

// The folder of a job that has not annotated yet is empty. It must not count as abandoned.
TEST_F(RecordCommand, TwoAtOnceDoNotShareAFolder) {
  const std::string go = (folder_ / "go").string();
  fs::remove(go);
  const std::string waits = "for i in $(seq 500); do [ -e " + go + " ] && break; sleep 0.02; done; " + job_ + " 4";
  Outcome first;
  std::thread other([&] { first = record({"sh", "-c", waits}); });
  for (int i = 0; i < 500 && !left(".recording"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--overwrite"}}) {
    const Outcome second = record({job_, "2"}, options);
    EXPECT_EQ(second.code, 2) << second.messages;
    EXPECT_THAT(second.messages, HasSubstr("is in use by another ddpprof record"));
    EXPECT_EQ(second.out, "");
  }
  std::ofstream{go};
  other.join();
  EXPECT_EQ(first.code, 0) << first.messages;
  EXPECT_EQ(rows("SELECT count(*) FROM step"), (std::vector<std::string>{"4"}));
  EXPECT_FALSE(left(".recording"));
}

TEST_F(RecordCommand, ASignalThatComesAfterTheJobCostsNothing) {
  const std::string late = "(while kill -USR1 $PPID 2> /dev/null; do sleep 0.001; done) > /dev/null 2>&1 &";
  const Outcome outcome = record({"sh", "-c", "trap '' USR1; " + job_ + " 300; " + late + " sleep 0.1"});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_TRUE(left(""));
}

// A shard without a header: its process was killed before it wrote the header, or had not written it when the job
// ended.
TEST_F(RecordCommand, AShardThatWasNotBegunCostsNothing) {
  const Outcome outcome =
      record({"sh", "-c", "truncate -s 1048576 \"$DDPPROF_TRACE_DIR/shard-0-1.ddps\"; " + job_ + " 3"});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_TRUE(left("")) << outcome.messages;
  EXPECT_FALSE(left(".recording"));
}

// The parent keeps running and never waits for the child, which becomes a zombie.
TEST_F(RecordCommand, AProcessThatHasEndedDoesNotStillRun) {
  const std::string killed = (folder_ / "killed").string();
  fs::remove(killed);
  const std::string parent =
      "import subprocess, sys, time; helper = subprocess.Popen([sys.argv[1], '2000']); time.sleep(0.5); helper.kill(); "
      "time.sleep(0.2); open(sys.argv[2], 'w').close(); time.sleep(5)";
  const Outcome outcome = record({"sh", "-c",
                                  "python3 -c \"$0\" \"$1\" \"$2\" > /dev/null 2>&1 & "
                                  "for i in $(seq 500); do [ -e \"$2\" ] && break; sleep 0.02; done; \"$1\" 3",
                                  parent, job_, killed});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_TRUE(fs::exists(killed));
  EXPECT_THAT(outcome.messages, Not(HasSubstr("still run")));
  EXPECT_FALSE(left(".recording"));
}

TEST_F(RecordCommand, WhatWasThereIsReplacedWhenThereIsSomethingNew) {
  file("job.db", test::read_all(database_));
  EXPECT_EQ(record({"true"}, {"--overwrite"}).code, 0);
  EXPECT_EQ(test::read_all(out_), test::read_all(database_)) << "without recorded events the database is not replaced";
  EXPECT_EQ(record({job_, "3"}, {"--overwrite", "--keep-shards", "--no-raw", "--model", "mine"}).code, 0);
  EXPECT_EQ(rows("SELECT model FROM measurement"), (std::vector<std::string>{"mine"}));
  EXPECT_EQ(rows("SELECT count(*) FROM range"), (std::vector<std::string>{"0"}));
  ASSERT_TRUE(left(".recording"));
  const Outcome again = run_ddpprof({"import", out_ + ".recording", "--out", (folder_ / "again.db").string()});
  EXPECT_EQ(again.code, 0) << again.messages;
  EXPECT_THAT(again.messages, HasSubstr("3 steps"));
}

// open() returns the lowest free number, which would make the shard the job's standard error.
TEST_F(RecordCommand, AClosedStreamStaysClosed) {
  const Outcome outcome = record({"sh", "-c", job_ + " 3 0 streams <&- 2>&-"});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_EQ(outcome.out, "standard error is closed\nstandard input is closed\nthe job's own words\n");
  EXPECT_EQ(rows("SELECT count(*) FROM step"), (std::vector<std::string>{"3"}));
}

TEST_F(RecordCommand, TheJobNeverFailsBecauseOfUs) {
  // The job removes the folder into which its processes record.
  const Outcome outcome =
      record({"sh", "-c", "rm -rf " + out_ + ".recording; mkdir -p /dev/null/x 2>/dev/null; " + job_ + " 2"});
  EXPECT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_THAT(outcome.out, HasSubstr("the job's own words"));
}

}  // namespace
}  // namespace ddpprof
