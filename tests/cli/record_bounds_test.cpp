// ddpprof record with bounds: only the requested part of the job is recorded, and the job itself does not change.
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/command_line.hpp"

namespace ddpprof {
namespace {

namespace fs = std::filesystem;
using test::CommandLine;
using test::Outcome;
using test::run_ddpprof;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RecordBounds : public CommandLine {
 protected:
  void SetUp() override {
    out_ = (folder_ / "bounds.db").string();
    for (const char* end : {"", ".d", ".recording"}) fs::remove_all(out_ + end);
  }
  Outcome record(const std::vector<std::string>& options, const std::vector<std::string>& command) const {
    std::vector<std::string> arguments = {"record", "--out", out_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.push_back("--");
    arguments.insert(arguments.end(), command.begin(), command.end());
    return run_ddpprof(arguments);
  }
  // Runs the job and sends the signals of `script`: "$job" is ddpprof record, "ready" waits until the job has
  // annotated.
  Outcome record_with_signals(const std::string& options, const std::string& job, const std::string& script) const {
    const std::string out = (folder_ / "out").string(), messages = (folder_ / "messages").string();
    const std::string all =
        "timeout 60 bash -c " + test::shell_quoted(test::shell_quoted(test::built_program()) + " record --out " + out_ +
                                                   " " + options + " -- " + job + " > " + out + " 2> " + messages +
                                                   " & job=$!; sleep 0.4; " + script + "; wait $job");
    const int status = std::system(all.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, test::read_all(out), test::read_all(messages)};
  }
  std::vector<std::string> rows(const std::string& sql) const {
    store::Database database = store::Database::open_read(out_);
    SQLite::Statement query(database.sql(), sql);
    std::vector<std::string> values;
    while (query.executeStep()) values.push_back(query.getColumn(0).getString());
    return values;
  }
  std::string value(const std::string& sql) const {
    const std::vector<std::string> values = rows(sql);
    return values.empty() ? "none" : values.front();
  }
  // Returns the number of ranges with this name, of all ranks.
  std::int64_t ranges(const std::string& name) const {
    return std::stoll(
        value("SELECT count(*) FROM range JOIN string ON name_id = string.id WHERE value = '" + name + "'"));
  }
  bool left(const char* end) const { return fs::exists(out_ + end); }

  std::string out_;
  std::string job_ = DDPPROF_RECORDED_JOB;
};

// After a run with wrong numbers a corrected run succeeds: no files are left in its way.
TEST_F(RecordBounds, WhatKeptNothingLeavesNothing) {
  const Outcome none = record({"--steps", "50-60"}, {job_, "3"});
  EXPECT_EQ(none.code, 0) << none.messages;
  EXPECT_THAT(none.messages, HasSubstr("3 steps occurred: 0 to 2"));
  EXPECT_FALSE(left(".recording")) << none.messages;
  EXPECT_THAT(none.messages, Not(HasSubstr(".recording")));
  const Outcome some = record({"--steps", "1-2"}, {job_, "3"});
  EXPECT_EQ(some.code, 0) << some.messages;
  EXPECT_EQ(value("SELECT count(*) FROM step"), "2");
}

TEST_F(RecordBounds, StepsAreThoseAskedForOnEveryRank) {
  const std::string script =
      "RANK=0 WORLD_SIZE=2 " + job_ + " 20 0 thread fork & RANK=1 WORLD_SIZE=2 " + job_ + " 20 0 thread & wait";
  const Outcome outcome = record({"--steps", "5-8"}, {"sh", "-c", script});
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_EQ(outcome.out, "the job's own words\nthe job's own words\n");
  for (const char* rank : {"0", "1"})
    EXPECT_THAT(rows(std::string("SELECT step FROM step WHERE shard_id = (SELECT id FROM shard WHERE rank = ") + rank +
                     ") ORDER BY step"),
                ElementsAre("5", "6", "7", "8"));
  EXPECT_EQ(value("SELECT count(*) FROM step WHERE forward_ns >= 1000000 AND backward_ns >= 2000000"), "8")
      << "each step is complete";
  EXPECT_EQ(ranges("forward"), 8);
  EXPECT_EQ(ranges("between"), 6)
      << "ranges between two recorded steps are recorded, ranges after the last one are not";
  EXPECT_GT(ranges("beside"), 8) << "ranges of other threads too";
  // No range begins before the start of the first step or after the end of the last one.
  EXPECT_EQ(value("SELECT count(*) FROM range AS r WHERE start_ns < (SELECT min(start_ns) FROM step WHERE shard_id = "
                  "r.shard_id)"),
            "0");
  EXPECT_EQ(
      value("SELECT count(*) FROM range AS r WHERE start_ns > (SELECT max(start_ns + duration_ns) FROM step WHERE "
            "shard_id = r.shard_id)"),
      "0");
  EXPECT_THAT(rows("SELECT message FROM diagnostic WHERE code = 'recording_bounded'"),
              ElementsAre(HasSubstr("steps 5 to 8"), HasSubstr("steps 5 to 8")));
  EXPECT_THAT(rows("SELECT code FROM diagnostic WHERE code IN ('steps_cut', 'unbalanced_ranges', 'unbalanced_pop', "
                   "'unclosed_shard', 'steps_by_repetition')"),
              IsEmpty());
  EXPECT_THAT(run_ddpprof({"report", out_, "--full"}).out, HasSubstr("recording_bounded"));
  EXPECT_FALSE(left(".recording"));
}

TEST_F(RecordBounds, StepsWithoutANumberHaveThatOfTheWholeJob) {
  ASSERT_EQ(record({"--steps", "3-4"}, {job_, "8", "0", "plain"}).code, 0);
  EXPECT_THAT(rows("SELECT step FROM step ORDER BY step"), ElementsAre("3", "4"));
  SetUp();
  ASSERT_EQ(record({"--steps", "3", "--step-range", "forward"}, {job_, "8"}).code, 0);
  EXPECT_THAT(rows("SELECT step FROM step"), ElementsAre("3"));
  EXPECT_EQ(ranges("backward"), 0) << "the step ends with its range";
}

TEST_F(RecordBounds, OpenEndsAreTheJobs) {
  ASSERT_EQ(record({"--steps", "17-"}, {job_, "20"}).code, 0);
  EXPECT_THAT(rows("SELECT step FROM step ORDER BY step"), ElementsAre("17", "18", "19"));
  EXPECT_EQ(ranges("between"), 3) << "after the last one too";
  SetUp();
  ASSERT_EQ(record({"--steps=-2"}, {job_, "20"}).code, 0);
  EXPECT_THAT(rows("SELECT step FROM step ORDER BY step"), ElementsAre("0", "1", "2"));
}

TEST_F(RecordBounds, NothingIsKeptBeforeTheDelayOrAfterTheDuration) {
  const Outcome outcome = record({"--delay", "0.15", "--duration", "0.1"}, {job_, "120", "6", "thread"});
  EXPECT_EQ(outcome.code, 6) << outcome.messages;
  EXPECT_EQ(outcome.out, "the job's own words\n");
  // The job lasts more than 120 x 3.7 ms. At most 27 complete steps fit into 100 ms.
  const std::int64_t steps = std::stoll(value("SELECT count(*) FROM step"));
  EXPECT_GE(steps, 1);
  EXPECT_LE(steps, 27);
  EXPECT_GT(std::stoll(value("SELECT min(step) FROM step")), 0);
  EXPECT_LT(std::stoll(value("SELECT max(step) FROM step")), 119);
  EXPECT_LE(std::stoll(value("SELECT max(start_ns) - min(start_ns) FROM range")), 100'000'000);
  EXPECT_EQ(value("SELECT count(*) FROM step WHERE backward_ns < 2000000"), "0") << "no incomplete step";
  EXPECT_THAT(value("SELECT message FROM diagnostic WHERE code = 'recording_bounded'"),
              HasSubstr("1 recording window of 0.1"));
}

TEST_F(RecordBounds, StepsAndADurationCountFromTheFirstStep) {
  ASSERT_EQ(record({"--steps", "20-", "--duration", "0.08"}, {job_, "100"}).code, 0);
  EXPECT_EQ(value("SELECT min(step) FROM step"), "20");
  const std::int64_t last = std::stoll(value("SELECT max(step) FROM step"));
  EXPECT_GE(last, 20);
  EXPECT_LE(last, 20 + 80 / 3);
}

TEST_F(RecordBounds, ASignalStartsAndStopsInEveryProcess) {
  const std::string script =
      "sh -c 'RANK=0 WORLD_SIZE=2 " + job_ + " 500 0 signals & RANK=1 WORLD_SIZE=2 " + job_ + " 500 0 & wait'";
  std::string signals;
  for (int i = 0; i < 6; ++i) signals += "kill -USR1 $job; sleep 0.1; ";  // on, off, three times
  const Outcome outcome = record_with_signals("--paused --toggle-signal USR1", script, signals + ":");
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_EQ(outcome.out, "the job's own words\nthe job's own words\n") << "the job received none of the signals";
  EXPECT_THAT(outcome.messages, HasSubstr("recording is on"));
  EXPECT_THAT(rows("SELECT message FROM diagnostic WHERE code = 'recording_bounded' ORDER BY rank"),
              ElementsAre(HasSubstr("3 recording windows"), HasSubstr("3 recording windows")));
  for (const char* rank : {"0", "1"}) {
    // The numbers of complete steps form three runs with gaps, without the first and the last step of the job.
    const std::string of_rank =
        std::string(" FROM step WHERE shard_id = (SELECT id FROM shard WHERE rank = ") + rank + ")";
    EXPECT_EQ(value("SELECT sum(gap > 1) FROM (SELECT step - lag(step) OVER (ORDER BY step) AS gap" + of_rank + ")"),
              "2")
        << rank;
    EXPECT_GT(std::stoll(value("SELECT min(step)" + of_rank)), 0);
    EXPECT_LT(std::stoll(value("SELECT max(step)" + of_rank)), 499);
    EXPECT_EQ(value("SELECT count(*)" + of_rank +
                    " AND (forward_ns < 1000000 OR backward_ns < 2000000 OR duration_ns > 50000000)"),
              "0")
        << "no step is truncated or spans a pause";
  }
  EXPECT_THAT(rows("SELECT code FROM diagnostic WHERE code IN ('unbalanced_ranges', 'unbalanced_pop')"), IsEmpty());
}

TEST_F(RecordBounds, OtherSignalsAreTheJobsAsBefore) {
  const Outcome outcome =
      record_with_signals("--toggle-signal USR1", job_ + " 200 4 signals", "kill -USR2 $job; kill -USR1 $job");
  EXPECT_EQ(outcome.code, 4) << outcome.messages;
  EXPECT_EQ(outcome.out, "a signal\nthe job's own words\n");
  EXPECT_THAT(outcome.messages, HasSubstr("recording is off"));
  SetUp();
  EXPECT_EQ(record_with_signals("--toggle-signal RTMIN+1", "sh -c '" + job_ + " 1000 & wait'", "kill -TERM $job").code,
            128 + 15);
}

TEST_F(RecordBounds, EachSignalRecordsForADuration) {
  const Outcome outcome = record_with_signals("--paused --toggle-signal USR2 --duration 0.05", job_ + " 300",
                                              "kill -USR2 $job; sleep 0.2; kill -USR2 $job");
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_THAT(value("SELECT message FROM diagnostic WHERE code = 'recording_bounded'"),
              HasSubstr("2 recording windows of 0.1"));
}

TEST_F(RecordBounds, WhatNeverCameIsSaid) {
  Outcome outcome = record({"--steps", "1000-2000"}, {job_, "10"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(
      outcome.messages,
      HasSubstr("steps 1000 to 2000 were requested, but 10 steps occurred: 0 to 9, the first named \"step 0\""));
  EXPECT_FALSE(left(""));
  SetUp();
  outcome = record({"--steps", "1-2", "--step-range", "epoch"}, {job_, "10"});
  EXPECT_THAT(outcome.messages, HasSubstr("no range is named \"epoch\""));
  EXPECT_THAT(outcome.messages, HasSubstr("\"forward\""));
  SetUp();
  outcome = record({"--delay", "30"}, {job_, "10"});
  EXPECT_THAT(outcome.messages, HasSubstr("the process ended before --delay"));
  SetUp();
  outcome = record({"--steps", "5-50"}, {job_, "10"});
  EXPECT_THAT(value("SELECT message FROM diagnostic WHERE code = 'recording_bounded'"),
              HasSubstr("the last step recorded was 9"));
}

TEST_F(RecordBounds, AProcessOfWhichNothingIsKeptIsNotTheJob) {
  const Outcome outcome = record({"--steps", "12-13"}, {"sh", "-c", job_ + " 5; " + job_ + " 20; " + job_ + " 4"});
  ASSERT_EQ(outcome.code, 0) << outcome.messages;
  EXPECT_THAT(rows("SELECT step FROM step ORDER BY step"), ElementsAre("12", "13"));
}

TEST_F(RecordBounds, WhatMakesNoSenseIsToldBeforeTheJobRuns) {
  const std::string ran = (folder_ / "ran").string();
  for (const auto& [options, why] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--delay=-1"}, "--delay -1"},
           {{"--delay", "nan"}, "--delay"},
           {{"--duration", "0"}, "more than 0"},
           {{"--duration", "1e12"}, "at most"},
           {{"--steps", "5-3"}, "--steps 5-3"},
           {{"--steps", "-"}, "--steps -"},
           {{"--steps", "a-b"}, "--steps a-b"},
           {{"--steps", "1-2-3"}, "--steps 1-2-3"},
           {{"--step-range", "step"}, "--step-range without --steps"},
           {{"--paused"}, "--paused without --toggle-signal records nothing"},
           {{"--paused", "--delay", "1", "--toggle-signal", "USR1"}, "contradict each other"},
           {{"--toggle-signal", "KILL"}, "--toggle-signal KILL"},
           {{"--toggle-signal", "RTMIN+99"}, "RTMIN+99"}}) {
    const Outcome outcome = record(options, {"touch", ran});
    EXPECT_EQ(outcome.code, 2) << outcome.messages;
    EXPECT_THAT(outcome.messages, HasSubstr(why));
    EXPECT_FALSE(fs::exists(ran)) << why;
    EXPECT_FALSE(left(".recording")) << why;
  }
}

}  // namespace
}  // namespace ddpprof
