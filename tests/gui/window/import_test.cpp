// The window opens what `ddpprof import` reads: in the background, with progress, cancel and an offer to save.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTabWidget>
#include <QTest>
#include <QUrl>

#include "gui/models/jobs.hpp"
#include "gui/widgets/diagnostics_bar.hpp"
#include "gui/window/main_window.hpp"
#include "tests/gui/window/files.hpp"

namespace ddpprof::gui {
namespace {

using test::Folder;
using testing::HasSubstr;

constexpr const char* step_times =
    "workers,nodes,batch_per_worker,step_time_s\n1,1,8,0.100\n1,1,16,0.181\n2,2,8,0.140\n3,3,8,0.171\n4,4,8,0.180\n";

// A trace of the PyTorch profiler: `steps` steps of 10 ms on a CPU, rank `rank` of 2.
std::string trace(int rank, int steps) {
  std::string events;
  for (int step = 0; step < steps; ++step) {
    const auto add = [&](const char* category, const std::string& name, int begin_us, int duration_us) {
      events += (events.empty() ? "" : ",\n") + std::string(R"({"ph": "X", "cat": ")") + category + R"(", "name": ")" +
                name + R"(", "pid": 100, "tid": 100, "ts": )" + std::to_string(1'000'000 + step * 10'000 + begin_us) +
                R"(, "dur": )" + std::to_string(duration_us) + "}";
    };
    add("user_annotation", "ProfilerStep#" + std::to_string(step), 0, 9'990);
    add("cpu_op", "aten::linear", 100, 3'000);
    add("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 3'500, 4'000);
    add("user_annotation", "Optimizer.step#SGD.step", 8'000, 500);
  }
  return R"({"schemaVersion": 1, "distributedInfo": {"backend": "gloo", "rank": )" + std::to_string(rank) +
         R"(, "world_size": 2}, "traceEvents": [)" + events + "]}";
}

class ImportWindow : public testing::Test {
 protected:
  // Returns "" if the files were opened, otherwise the window's message.
  std::string opened(const std::vector<std::filesystem::path>& paths) {
    const QSignalSpy yes(&window, &MainWindow::opened), no(&window, &MainWindow::not_opened);
    window.open(OpenRequest{paths, {}});
    EXPECT_TRUE(QTest::qWaitFor([&] { return yes.count() + no.count() > 0; }, 60'000));
    return no.isEmpty() ? "" : no.front().front().toString().toStdString();
  }
  QPushButton* save_button() {
    for (QPushButton* button : window.findChildren<QPushButton*>())
      if (button->toolTip().startsWith("Save the imported database")) return button;
    return nullptr;
  }

  const Folder folder;
  MainWindow window;
};

TEST_F(ImportWindow, ATraceIsImportedShownAndSaved) {
  test::write_text(folder / "rank0.json", trace(0, 6));
  window.show();
  ASSERT_EQ(opened({folder / "rank0.json"}), "");
  ASSERT_NE(window.file(), nullptr);
  ASSERT_EQ(window.file()->measurements.size(), 1U);
  EXPECT_EQ(window.file()->measurements.front().kind, "import");
  EXPECT_THAT(window.windowTitle().toStdString(), HasSubstr("rank0.json"));
  ASSERT_NE(save_button(), nullptr);
  EXPECT_TRUE(save_button()->isVisible());
  const std::filesystem::path temporary = window.file()->path;
  EXPECT_TRUE(std::filesystem::exists(temporary));
  EXPECT_NE(temporary.parent_path(), (folder / "rank0.json").parent_path());

  const QSignalSpy yes(&window, &MainWindow::opened);
  window.save_imported_as(QString::fromStdString((folder / "saved.db").string()));
  ASSERT_TRUE(QTest::qWaitFor([&] { return yes.count() == 1; }, 60'000));
  EXPECT_EQ(window.file()->path, folder / "saved.db");
  EXPECT_EQ(window.file()->measurements.size(), 1U);
  EXPECT_FALSE(save_button()->isVisible());
  ASSERT_TRUE(QTest::qWaitFor([&] { return Job::running_now() == 0 && !std::filesystem::exists(temporary); }, 60'000))
      << "the temporary database is removed with the last page that uses it";
}

TEST_F(ImportWindow, SeveralFilesAndFoldersAreOneImport) {
  std::filesystem::create_directory(folder / "job");
  for (const int rank : {0, 1})
    test::write_text(folder / ("job/rank" + std::to_string(rank) + ".json"), trace(rank, 6));
  QMimeData mime;
  mime.setUrls({QUrl::fromLocalFile(QString::fromStdString((folder / "job/rank0.json").string())),
                QUrl::fromLocalFile(QString::fromStdString((folder / "job/rank1.json").string()))});
  const QSignalSpy yes(&window, &MainWindow::opened);
  QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&window, &enter);
  ASSERT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&window, &drop);
  ASSERT_TRUE(QTest::qWaitFor([&] { return yes.count() == 1; }, 60'000));
  ASSERT_EQ(window.file()->measurements.size(), 1U);
  EXPECT_EQ(window.file()->measurements.front().workers, 2);
  ASSERT_EQ(opened({folder / "job"}), "");
  EXPECT_EQ(window.file()->measurements.front().workers, 2);
  EXPECT_EQ(window.file()->imported_from, std::vector<std::filesystem::path>{folder / "job"});
}

TEST_F(ImportWindow, ATableOfStepTimesIsImported) {
  test::write_text(folder / "steps.csv", step_times);
  ASSERT_EQ(opened({folder / "steps.csv"}), "");
  EXPECT_FALSE(window.file()->stored_predictions.rows.empty()) << window.file()->why_no_models;
}

TEST_F(ImportWindow, WhatCannotBeImportedIsExplainedAndThePresentFileStays) {
  test::write_sound(folder / "run.db");
  ASSERT_EQ(opened({folder / "run.db"}), "");
  const auto shown = window.file();
  test::write_text(folder / "notes.txt", "nothing that ddpprof reads\n");
  test::write_text(folder / "cut.json", "{\"traceEvents\": [");
  test::write_text(folder / "steps.csv", step_times);
  test::write_text(folder / "rank0.json", trace(0, 6));
  std::filesystem::create_directory(folder / "empty");
  const auto refused = [&](const std::vector<std::filesystem::path>& paths, const char* why) {
    const std::string said = opened(paths);
    EXPECT_THAT(said, HasSubstr(why));
    EXPECT_THAT(window.diagnostics().text().toStdString(), HasSubstr(said));
    EXPECT_EQ(window.file(), shown);
  };
  refused({folder / "notes.txt"}, "notes.txt: the format is unknown (expected a PyTorch profiler's JSON");
  refused({folder / "cut.json"}, "cut.json");
  refused({folder / "empty"}, "empty");
  refused({folder / "steps.csv", folder / "rank0.json"}, "import them into two databases");
  refused({folder / "run.db", folder / "rank0.json"}, "run.db is already a database of ddpprof");
}

TEST_F(ImportWindow, AnImportShowsItsProgressAndIsCancelled) {
  test::write_text(folder / "long.json", trace(0, 60'000));
  test::write_sound(folder / "run.db");
  ASSERT_EQ(opened({folder / "run.db"}), "");
  window.show();
  auto* bar = window.findChild<QProgressBar*>();
  for (QProgressBar* one : window.statusBar()->findChildren<QProgressBar*>()) bar = one;
  const QSignalSpy yes(&window, &MainWindow::opened), no(&window, &MainWindow::not_opened);
  window.open(OpenRequest{{folder / "long.json"}, {}});
  int highest = 0;
  ASSERT_TRUE(QTest::qWaitFor(
      [&] {
        highest = std::max(highest, bar->value());
        return (bar->isVisible() && highest > 5) || !window.opening();
      },
      60'000));
  ASSERT_TRUE(window.opening()) << "the import ended before its progress was seen: make the trace longer";
  EXPECT_THAT(window.statusBar()->currentMessage().toStdString(), HasSubstr("Importing long.json"));
  QTest::keyClick(&window, Qt::Key_Escape);
  EXPECT_FALSE(window.opening());
  EXPECT_FALSE(bar->isVisible());
  QTest::qWait(300);
  EXPECT_EQ(yes.count() + no.count(), 0);
  EXPECT_EQ(window.file()->path, folder / "run.db");
}

// After opening another file, Overview is shown, unless the user asked for a page or reads the same file again.
TEST_F(ImportWindow, OverviewIsThePageAfterOpening) {
  test::write_sound(folder / "a.db");
  test::write_sound(folder / "b.db");
  auto* tabs = window.findChild<QTabWidget*>();
  window.show_page("Fit");
  ASSERT_EQ(opened({folder / "a.db"}), "");
  EXPECT_EQ(tabs->tabText(tabs->currentIndex()), "F&it") << "asked for before a file was open";
  ASSERT_EQ(opened({folder / "a.db"}), "");
  EXPECT_EQ(tabs->tabText(tabs->currentIndex()), "F&it") << "the same file again";
  ASSERT_EQ(opened({folder / "b.db"}), "");
  EXPECT_EQ(tabs->tabText(tabs->currentIndex()), "Overview");
}

// A sweep of all-reduces has no step: pages about steps are hidden. They come back with the next file.
TEST_F(ImportWindow, PagesThatDoNotApplyAreHidden) {
  {
    store::Database database = store::Database::create(folder / "sweep.db");
    fit::synthetic::add_bench(database, {}, {2, 4});
    database.finish_load();
  }
  test::write_sound(folder / "run.db");
  auto* tabs = window.findChild<QTabWidget*>();
  const auto hidden = [&] {
    QStringList titles;
    for (int i = 0; i < tabs->count(); ++i)
      if (!tabs->isTabVisible(i)) titles << tabs->tabText(i).remove('&');
    return titles;
  };
  ASSERT_EQ(opened({folder / "run.db"}), "");
  EXPECT_EQ(hidden(), QStringList());
  window.show_page("Ranks");
  ASSERT_EQ(opened({folder / "sweep.db"}), "");
  EXPECT_EQ(hidden(), QStringList({"Scaling", "DP and DDP", "Timeline", "Ranks", "Learning rate"}));
  EXPECT_TRUE(tabs->isTabVisible(tabs->currentIndex()));
  ASSERT_EQ(opened({folder / "run.db"}), "");
  EXPECT_EQ(hidden(), QStringList());
}

}  // namespace
}  // namespace ddpprof::gui
