// `ddpprof run` started by the window: the real program, and scripts that replace it to produce unusual ends.
#include "gui/models/runs/run_process.hpp"

#include <gtest/gtest.h>

#include <QFile>
#include <QFileInfo>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include "tests/gui/runs/small_scenario.hpp"

namespace ddpprof::gui {
namespace {

constexpr int patience_ms = 60000;
constexpr bool with_worker = DDPPROF_WITH_WORKER != 0;  // true if this build has the worker

class RunProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    qputenv("DDPPROF_PROGRAM", DDPPROF_BUILT_PROGRAM);
    QObject::connect(&process_, &RunProcess::finished, &process_, [this](const RunResult& result) {
      result_ = result;
      ended_ = true;
    });
    QObject::connect(&process_, &RunProcess::logged, &process_, [this](const QString& line) { log_ += line + "\n"; });
    QObject::connect(&process_, &RunProcess::printed, &process_, [this](const QString& text) {
      out_ += text;
      pieces_ << text;
    });
    QObject::connect(&process_, &RunProcess::progressed, &process_,
                     [this](const RunProgress& progress) { progress_.push_back(progress); });
    options_.out = folder_.filePath("run.db");
  }
  void TearDown() override { qunsetenv("DDPPROF_PROGRAM"); }

  void write(const QString& name, const QString& text) {
    QFile file(folder_.filePath(name));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text.toUtf8());
    file.setPermissions(file.permissions() | QFileDevice::ExeOwner);
  }
  void scenario(const QString& text) {
    write("small.yaml", text);
    options_.scenario_file = folder_.filePath("small.yaml");
  }
  // A script instead of ddpprof, for a program that does not end or ends in an unusual way.
  void stand_in(const QString& script) {
    write("stand-in", "#!/bin/bash\n" + script);
    qputenv("DDPPROF_PROGRAM", folder_.filePath("stand-in").toUtf8());
  }
  bool run_to_end() {
    return process_.start(options_) && QTest::qWaitFor([&] { return ended_; }, patience_ms);
  }

  QTemporaryDir folder_;
  RunProcess process_;
  RunOptions options_;
  RunResult result_;
  bool ended_ = false;
  QString log_, out_;
  QStringList pieces_;  // the chunks of out_ as they arrived
  std::vector<RunProgress> progress_;
};

TEST_F(RunProcessTest, ADryRunPrintsThePlanAndWritesNothing) {
  scenario(small_scenario(20));
  options_.dry_run = true;
  options_.workers = "1,2";
  ASSERT_TRUE(run_to_end());
  EXPECT_TRUE(result_.ok) << log_.toStdString();
  EXPECT_EQ(result_.code, 0);
  EXPECT_TRUE(out_.contains("ddp")) << out_.toStdString();
  EXPECT_TRUE(result_.database.isEmpty());
  EXPECT_FALSE(QFileInfo::exists(options_.out));
}

TEST_F(RunProcessTest, AWrongScenarioEndsWithExitCodeTwoAndItsProblems) {
  scenario(small_scenario(20).replace("batch_per_worker", "batch_per_wrker"));
  ASSERT_TRUE(run_to_end());
  EXPECT_FALSE(result_.ok);
  EXPECT_EQ(result_.code, 2);
  EXPECT_TRUE(result_.message.startsWith(exit_code_text(2))) << result_.message.toStdString();
  EXPECT_TRUE((log_ + result_.message).contains("did you mean 'workload.batch_per_worker'?")) << log_.toStdString();
  EXPECT_TRUE((log_ + result_.message).contains("small.yaml:6:3")) << log_.toStdString();
  EXPECT_TRUE(result_.database.isEmpty());
}

TEST_F(RunProcessTest, AMissingFolderIsReportedBeforeMeasuring) {
  scenario(small_scenario(20));
  options_.out = folder_.filePath("nowhere/run.db");
  ASSERT_TRUE(run_to_end());
  EXPECT_NE(result_.code, 0);
  EXPECT_TRUE(result_.database.isEmpty());
  EXPECT_TRUE(!with_worker || result_.message.contains("is not a folder")) << result_.message.toStdString();
}

TEST_F(RunProcessTest, WithoutTheWorkerItReportsWhatIsMissing) {
  const QByteArray before = qgetenv("DDPPROF_WORKER_PROGRAM");
  if (with_worker) qputenv("DDPPROF_WORKER_PROGRAM", "/nowhere/ddpprof-worker");
  scenario(small_scenario(20));
  ASSERT_TRUE(run_to_end());
  before.isNull() ? qunsetenv("DDPPROF_WORKER_PROGRAM") : qputenv("DDPPROF_WORKER_PROGRAM", before);
  EXPECT_EQ(result_.code, 3);
  EXPECT_TRUE(result_.message.startsWith(exit_code_text(3)));
  EXPECT_TRUE(result_.message.contains("ddpprof-worker")) << result_.message.toStdString();
}

#if DDPPROF_WITH_WORKER
TEST_F(RunProcessTest, ARunIsFollowedToItsDatabase) {
  scenario(small_scenario(200));
  ASSERT_TRUE(run_to_end());
  EXPECT_TRUE(result_.code == 0 || result_.code == 5) << log_.toStdString();  // with one N, predictions may be refused
  EXPECT_EQ(result_.database, options_.out);
  EXPECT_TRUE(QFileInfo::exists(options_.out));
  ASSERT_FALSE(progress_.empty());
  EXPECT_TRUE(progress_.front().text.startsWith("ddp N=1, repeat 0 (1 of 1): "))
      << progress_.front().text.toStdString();
  for (std::size_t i = 1; i < progress_.size(); ++i)
    EXPECT_GE(progress_[i].fraction, progress_[i - 1].fraction)
        << progress_[i - 1].text.toStdString() << ", then " << progress_[i].text.toStdString();
  EXPECT_EQ(progress_.back().fraction, 1.0) << "concluding";
  EXPECT_FALSE(log_.contains("{\"progress\"")) << "progress is not logged";
  EXPECT_FALSE(out_.isEmpty()) << "the report";
}

TEST_F(RunProcessTest, ACancelEndsTheRanksAndKeepsTheDatabase) {
  scenario(small_scenario(1000000));
  ASSERT_TRUE(process_.start(options_));
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended_ || (!progress_.empty() && progress_.back().text.contains("step ")); },
                              patience_ms));
  ASSERT_FALSE(ended_) << log_.toStdString();
  process_.cancel();
  EXPECT_TRUE(process_.cancelling());
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended_; }, patience_ms));
  EXPECT_TRUE(result_.cancelled);
  EXPECT_EQ(result_.code, 4) << log_.toStdString();
  EXPECT_EQ(result_.database, options_.out);
  EXPECT_TRUE(result_.message.startsWith("Cancelled. Finished measurements are kept in "))
      << result_.message.toStdString();
  EXPECT_FALSE(process_.running());
}
#endif

TEST_F(RunProcessTest, CtrlCIsTriedFirst) {
  stand_in("trap 'echo interrupted >&2; exit 4' INT\necho ready >&2\nwhile true; do sleep 0.05; done\n");
  ASSERT_TRUE(process_.start(options_));
  ASSERT_TRUE(QTest::qWaitFor([&] { return log_.contains("ready"); }, patience_ms));
  process_.cancel();
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended_; }, patience_ms));
  EXPECT_TRUE(log_.contains("interrupted"));
  EXPECT_EQ(result_.code, 4);
  EXPECT_FALSE(log_.contains("SIGTERM"));
}

TEST_F(RunProcessTest, AProcessThatIgnoresSignalsIsKilled) {
  stand_in("trap '' INT TERM\necho ready >&2\nwhile true; do sleep 0.05; done\n");
  process_.set_grace(50, 50);
  ASSERT_TRUE(process_.start(options_));
  ASSERT_TRUE(QTest::qWaitFor([&] { return log_.contains("ready"); }, patience_ms));
  process_.cancel();
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended_; }, patience_ms));
  EXPECT_LT(log_.indexOf("SIGTERM"), log_.indexOf("SIGKILL"));
  EXPECT_TRUE(result_.cancelled);
  EXPECT_EQ(result_.code, -1);
}

TEST_F(RunProcessTest, EveryExitCodeHasAText) {
  for (const int code : {0, 2, 3, 4, 5, 77}) {
    ended_ = false;
    stand_in(QStringLiteral("echo 'ddpprof run: the reason' >&2\nexit %1\n").arg(code));
    ASSERT_TRUE(run_to_end());
    EXPECT_EQ(result_.code, code);
    EXPECT_EQ(result_.ok, code == 0);
    EXPECT_EQ(result_.message.contains("the reason"), code != 0) << result_.message.toStdString();
    EXPECT_TRUE(result_.message.startsWith(exit_code_text(code)));
  }
}

TEST_F(RunProcessTest, ACrashIsNotAnExitCode) {
  stand_in("kill -SEGV $$\n");
  ASSERT_TRUE(run_to_end());
  EXPECT_EQ(result_.code, -1);
  EXPECT_FALSE(result_.ok);
  EXPECT_TRUE(result_.message.contains("ended by a signal")) << result_.message.toStdString();
}

TEST_F(RunProcessTest, AMissingProgramIsReportedWithWhatToDo) {
  qputenv("DDPPROF_PROGRAM", "/nowhere/ddpprof");
  EXPECT_FALSE(process_.start(options_));
  EXPECT_TRUE(ended_);
  EXPECT_TRUE(result_.message.contains("DDPPROF_PROGRAM names '/nowhere/ddpprof'")) << result_.message.toStdString();
}

TEST_F(RunProcessTest, LinesThatArriveInPiecesAreWhole) {
  stand_in(
      "printf '{\"progress\":\"measuring\",\"configuration\":2,\"configurations\":4,\"strategy\":\"ddp\",' >&2\n"
      "sleep 0.2\n"
      "printf "
      "'\"workers\":8,\"repeat\":1,\"activity\":\"forward\",\"step\":50,\"steps\":100,\"remaining_s\":75.4}\\nlast' "
      ">&2\n");
  ASSERT_TRUE(run_to_end());
  ASSERT_EQ(progress_.size(), 1u);
  EXPECT_DOUBLE_EQ(progress_[0].fraction, 0.375);  // one and a half of four
  EXPECT_EQ(progress_[0].text, "ddp N=8, repeat 1 (2 of 4): step 50 of 100, about 1:15 min left");
  EXPECT_DOUBLE_EQ(progress_[0].remaining_s, 75.4);
  EXPECT_EQ(log_, "last\n") << "without a line's end";
}

TEST_F(RunProcessTest, ProgressNeverGoesBack) {
  const auto line = [](int configuration, const char* activity, const char* step, const char* steps) {
    return QStringLiteral(
               "echo '{\"progress\":\"measuring\",\"configuration\":%1,\"configurations\":2,\"strategy\":\"ddp\","
               "\"workers\":2,\"repeat\":0,\"activity\":\"%2\",\"step\":%3,\"steps\":%4,\"remaining_s\":null}' >&2\n")
        .arg(configuration)
        .arg(activity, step, steps);
  };
  stand_in(line(1, "starting", "0", "null") + line(1, "forward", "90", "100") + line(1, "writing", "0", "null") +
           line(2, "starting", "0", "null") + line(2, "forward", "50", "100"));
  for (int again = 0; again < 2; ++again) {
    ended_ = false;
    progress_.clear();
    ASSERT_TRUE(run_to_end());
    std::vector<double> fractions;
    for (const RunProgress& progress : progress_) fractions.push_back(progress.fraction);
    EXPECT_EQ(fractions, (std::vector<double>{0.0, 0.45, 0.45, 0.5, 0.75}));
  }
}

TEST_F(RunProcessTest, TheReportArrivesInWholeLinesAndCharacters) {
  const QString go = folder_.filePath("go");
  stand_in("printf 'first\\nse\\303'\necho ready >&2\nuntil [ -e '" + go +
           "' ]; do sleep 0.01; done\nprintf '\\251cond\\nlast'\n");
  ASSERT_TRUE(process_.start(options_));
  ASSERT_TRUE(QTest::qWaitFor([&] { return log_.contains("ready") && !pieces_.isEmpty(); }, patience_ms));
  EXPECT_EQ(pieces_, QStringList{"first\n"}) << "the second line has not ended";
  write("go", {});
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended_; }, patience_ms));
  EXPECT_EQ(out_, "first\nseécond\nlast");
  for (qsizetype i = 0; i + 1 < pieces_.size(); ++i) EXPECT_TRUE(pieces_[i].endsWith('\n')) << pieces_[i].toStdString();
}

TEST_F(RunProcessTest, TheDatabaseOfAnEarlierRunIsNotThisRuns) {
  write("run.db", "before");
  stand_in("trap 'exit 4' INT\necho ready >&2\nwhile true; do sleep 0.05; done\n");
  options_.overwrite = true;
  ASSERT_TRUE(process_.start(options_));
  ASSERT_TRUE(QTest::qWaitFor([&] { return log_.contains("ready"); }, patience_ms));
  process_.cancel();
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended_; }, patience_ms));
  EXPECT_TRUE(result_.database.isEmpty()) << result_.database.toStdString();
  EXPECT_EQ(result_.message, "Cancelled. Nothing was measured; " + options_.out + " was not changed.");

  ended_ = false;
  stand_in("echo after > '" + options_.out + ".new'\nmv '" + options_.out + ".new' '" + options_.out + "'\nexit 4\n");
  ASSERT_TRUE(run_to_end());
  EXPECT_EQ(result_.database, options_.out) << "replaced";
}

TEST(ParseProgress, OtherLinesAreNotProgress) {
  EXPECT_FALSE(parse_progress("Measuring 4 configurations").has_value());
  EXPECT_FALSE(parse_progress("{\"progress\":").has_value()) << "cut off";
  const auto starting = parse_progress(
      "{\"progress\":\"measuring\",\"configuration\":1,\"configurations\":3,\"strategy\":\"dp\",\"workers\":2,"
      "\"repeat\":0,\"activity\":\"starting\",\"step\":0,\"steps\":null,\"remaining_s\":null}");
  ASSERT_TRUE(starting.has_value());
  EXPECT_EQ(starting->text, "dp N=2, repeat 0 (1 of 3): starting");
  EXPECT_EQ(starting->fraction, 0.0);
  EXPECT_LT(starting->remaining_s, 0.0);
}

}  // namespace
}  // namespace ddpprof::gui
