// The page Runs, used as a user does: typing, clicking, dropping, running.
#include "gui/pages/runs/runs_page.hpp"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QAbstractItemView>
#include <QApplication>
#include <QCompleter>
#include <QDropEvent>
#include <QFile>
#include <QFileInfo>
#include <QListWidget>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QThreadPool>

#include "analysis/report/core/display.hpp"
#include "gui/models/runs/compare_files.hpp"
#include "gui/pages/runs/compare_panel.hpp"
#include "gui/pages/runs/open_panel.hpp"
#include "gui/pages/runs/run_panel.hpp"
#include "gui/pages/runs/scenario_editor.hpp"
#include "gui/pages/runs/scenario_panel.hpp"
#include "gui/widgets/table_view.hpp"
#include "runner/scenario_queries/compare.hpp"
#include "tests/analysis/report/synthetic_run.hpp"
#include "tests/gui/accelerators.hpp"
#include "tests/gui/runs/small_scenario.hpp"

namespace ddpprof::gui {
namespace {

constexpr int patience_ms = 60000;
const QString sound = small_scenario();

class RunsPageTest : public testing::Test {
 protected:
  void SetUp() override {
    qputenv("DDPPROF_PROGRAM", DDPPROF_BUILT_PROGRAM);
    QSettings().clear();
    page_ = std::make_unique<RunsPage>(selection_);
    page_->set_ask([this](const Question& question) {
      asked_ << question.text;
      return answer_;
    });
    page_->resize(1100, 720);
    page_->show();
    QObject::connect(page_.get(), &Page::open_requested, page_.get(), [this](const QString& path) { opened_ << path; });
  }
  void TearDown() override { qunsetenv("DDPPROF_PROGRAM"); }

  ScenarioEditor& editor() { return *page_->scenario().editor(); }
  bool checked() {
    return QTest::qWaitFor([&] { return !editor().checking(); }, patience_ms);
  }
  void type_sound() {
    editor().setPlainText(sound);
    ASSERT_TRUE(checked());
    ASSERT_TRUE(editor().problems().empty()) << editor().problems()[0].text().toStdString();
  }
  QString file(const QString& name, const QString& text) {
    QFile out(folder_.filePath(name));
    EXPECT_TRUE(out.open(QIODevice::WriteOnly));
    out.write(text.toUtf8());
    return out.fileName();
  }
  QString database(const QString& name) {
    const QString path = folder_.filePath(name);
    test::SyntheticRun(path.toStdString()).fill();
    return path;
  }
  bool ended() {
    return QTest::qWaitFor([&] { return !page_->run().process().running(); }, patience_ms);
  }

  QTemporaryDir folder_;
  Selection selection_;
  Answer answer_ = Answer::cancel;
  QStringList asked_, opened_;
  std::unique_ptr<RunsPage> page_;
};

TEST_F(RunsPageTest, AnErrorIsListedAtItsLineUntilItIsCorrected) {
  type_sound();
  EXPECT_TRUE(page_->scenario().status().contains("valid"));
  editor().go_to(6, 24);  // after "  batch_per_worker: 8"
  QTest::keyClicks(&editor(), "x");
  ASSERT_TRUE(checked());
  ASSERT_EQ(editor().problems().size(), 1u);
  EXPECT_EQ(editor().problems()[0].line, 6);
  QListWidget* list = page_->scenario().problems();
  ASSERT_EQ(list->count(), 1);
  EXPECT_TRUE(list->isVisible());
  EXPECT_TRUE(list->item(0)->text().startsWith("line 6, column 21: workload.batch_per_worker: "))
      << list->item(0)->text().toStdString();
  ASSERT_EQ(editor().extraSelections().size(), 1);
  EXPECT_EQ(editor().extraSelections()[0].cursor.selectedText(), "8x");

  editor().go_to(1, 1);
  emit list->itemActivated(list->item(0));
  EXPECT_EQ(editor().textCursor().blockNumber() + 1, 6) << "a click on the problem goes to its line";
  editor().go_to(6, 24);
  QTest::keyClick(&editor(), Qt::Key_Backspace);
  ASSERT_TRUE(checked());
  EXPECT_TRUE(editor().problems().empty());
  EXPECT_TRUE(editor().extraSelections().isEmpty());
  EXPECT_FALSE(list->isVisible());
}

TEST_F(RunsPageTest, KeysAreCompletedWithWhatTheyMean) {
  editor().setPlainText("measure:\n  re");
  editor().moveCursor(QTextCursor::End);
  QString said;
  QObject::connect(&editor(), &ScenarioEditor::described, page_.get(), [&](const QString& what) { said = what; });
  QTest::keyClick(&editor(), Qt::Key_Space, Qt::ControlModifier);
  QAbstractItemView* popup = editor().completer()->popup();
  ASSERT_TRUE(popup->isVisible());
  ASSERT_EQ(popup->model()->rowCount(), 1);
  EXPECT_EQ(popup->model()->index(0, 0).data().toString(), "repeats: ");
  EXPECT_TRUE(said.contains("an integer, 1")) << said.toStdString();
  QTest::keyClick(popup, Qt::Key_Return);
  EXPECT_EQ(editor().toPlainText(), "measure:\n  repeats: ");
  EXPECT_FALSE(popup->isVisible());
}

TEST_F(RunsPageTest, ANewLineKeepsTheIndentationAndAGroupDeepensIt) {
  editor().setPlainText("");
  QTest::keyClicks(&editor(), "measure:");
  QTest::keyClick(&editor(), Qt::Key_Escape);  // closes the list
  QTest::keyClick(&editor(), Qt::Key_Return);
  QTest::keyClicks(&editor(), "# why");
  QTest::keyClick(&editor(), Qt::Key_Return);
  EXPECT_EQ(editor().toPlainText(), "measure:\n  # why\n  ");
}

TEST_F(RunsPageTest, UnsavedTextIsNeverLostWithoutAsking) {
  const QString other = file("other.yaml", sound);
  type_sound();
  editor().moveCursor(QTextCursor::End);
  QTest::keyClicks(&editor(), "# mine");
  EXPECT_FALSE(page_->scenario().open(other)) << "answered Cancel";
  EXPECT_EQ(asked_.size(), 1);
  EXPECT_TRUE(editor().toPlainText().endsWith("# mine"));
  EXPECT_FALSE(page_->may_close());
  answer_ = Answer::second;  // discard
  EXPECT_TRUE(page_->scenario().open(other));
  EXPECT_EQ(editor().toPlainText(), sound);
  EXPECT_TRUE(page_->may_close()) << "nothing unsaved";
  EXPECT_EQ(asked_.size(), 3);

  QTest::keyClicks(&editor(), "# kept ");
  answer_ = Answer::first;  // save
  EXPECT_TRUE(page_->scenario().start_from("name: new\n", "new.yaml"));
  QFile saved(other);
  ASSERT_TRUE(saved.open(QIODevice::ReadOnly));
  EXPECT_TRUE(saved.readAll().contains("# kept"));
}

TEST_F(RunsPageTest, ABinaryFileIsRefusedAndTheTextKept) {
  type_sound();
  editor().document()->setModified(false);
  QFile binary(folder_.filePath("binary.yaml"));
  ASSERT_TRUE(binary.open(QIODevice::WriteOnly));
  binary.write(QByteArray("\xff\x00\xfe", 3));
  binary.close();
  EXPECT_FALSE(page_->scenario().open(binary.fileName()));
  EXPECT_TRUE(page_->scenario().status().contains("not a text file"));
  EXPECT_FALSE(page_->scenario().open("/nowhere/x.yaml"));
  EXPECT_TRUE(page_->scenario().status().contains("cannot be read"));
  EXPECT_EQ(editor().toPlainText(), sound);
}

TEST_F(RunsPageTest, StartsFromTheOpenedDatabasesScenario) {
  page_->show_file(open_file(database("run.db").toStdString()));
  ASSERT_TRUE(page_->scenario().start_from_stored());
  EXPECT_TRUE(editor().toPlainText().startsWith("name: \"mnist-mlp\"\n")) << editor().toPlainText().toStdString();
  ASSERT_TRUE(checked());
  EXPECT_TRUE(editor().problems().empty());
  EXPECT_EQ(page_->scenario().name(), "mnist-mlp.yaml");
  EXPECT_TRUE(page_->scenario().path().isEmpty()) << "of no file";
}

void drop(QWidget& on, const QString& path) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(path)});
  QDragEnterEvent enter(QPoint(20, 20), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&on, &enter);
  ASSERT_TRUE(enter.isAccepted());
  QDropEvent event(QPointF(20, 20), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&on, &event);
  ASSERT_TRUE(event.isAccepted());
}

TEST_F(RunsPageTest, ADroppedDatabaseIsAskedToBeOpenedADroppedScenarioIsShown) {
  drop(*page_, "/some/run.db");
  EXPECT_EQ(opened_, QStringList{"/some/run.db"});
  drop(*page_, file("dropped.yaml", sound));
  EXPECT_EQ(opened_.size(), 1);
  EXPECT_EQ(editor().toPlainText(), sound);
}

TEST_F(RunsPageTest, RecentDatabasesAreOpenedByKeyboard) {
  const QString here = database("here.db");
  QSettings().setValue("recent_files", QStringList{here, "/nowhere/gone.db"});
  page_->opening().refresh();
  QListWidget* recent = page_->opening().recent();
  ASSERT_EQ(recent->count(), 2);
  EXPECT_TRUE(recent->item(1)->text().contains("(missing)"));
  recent->setCurrentRow(0);
  QTest::keyClick(recent, Qt::Key_Return);
  EXPECT_EQ(opened_, QStringList{here});
}

TEST_F(RunsPageTest, ComparesWithTheCommandLinesTables) {
  const QString a = database("a.db"), b = folder_.filePath("b.db");
  {
    test::SyntheticRun run(b.toStdString());
    const std::int64_t one = run.shard(run.measurement(test::train("ddp", 1)), 0);
    for (int i = 0; i < 8; ++i) run.step(one, i, i * 1000 * test::ms, 200 * test::ms, 150 * test::ms, 0, 0, 0);
  }
  ComparePanel& panel = page_->comparison();
  QSignalSpy done(&panel, &ComparePanel::compared);
  page_->opening().compare_requested(a, true);
  EXPECT_FALSE(panel.running()) << "B is not chosen yet";
  page_->opening().compare_requested(b, false);
  ASSERT_TRUE(done.wait(patience_ms));
  store::Database in_a = store::Database::open_read(a.toStdString()),
                  in_b = store::Database::open_read(b.toStdString());
  const report::Report expected = scenario_queries::compare(in_a, in_b);
  ASSERT_NE(panel.shown(), nullptr);
  ASSERT_EQ(panel.shown()->tables.size(), expected.tables.size());
  for (const report::Table& table : expected.tables) {
    TableView* view = panel.view(table.name);
    ASSERT_NE(view, nullptr) << table.name;
    const auto shown = report::show(table);
    ASSERT_EQ(view->model()->rowCount(), static_cast<int>(table.rows.size())) << table.name;
    ASSERT_EQ(view->model()->columnCount(), static_cast<int>(shown.size())) << table.name;
    for (std::size_t column = 0; column < shown.size(); ++column)
      for (std::size_t row = 0; row < table.rows.size(); ++row)
        EXPECT_EQ(view->model()->index(static_cast<int>(row), static_cast<int>(column)).data().toString().toStdString(),
                  shown[column].cells[row]);
  }
}

TEST_F(RunsPageTest, TablesOfAComparisonConfirmACopy) {
  ComparePanel& panel = page_->comparison();
  panel.set_a(database("a.db"));
  panel.set_b(database("b.db"));
  QSignalSpy done(&panel, &ComparePanel::compared);
  panel.compare();
  ASSERT_TRUE(done.wait(patience_ms));
  const QSignalSpy said(page_.get(), &Page::status_message);
  TableView* view = panel.view("compare_time");
  view->copy_as_csv();
  ASSERT_EQ(said.size(), 1);
  ASSERT_GT(view->model()->rowCount(), 1);
  EXPECT_EQ(said[0][0].toString(), QStringLiteral("Copied %1 rows as CSV").arg(view->model()->rowCount()));
}

TEST_F(RunsPageTest, TheAnswerNamesTheFilesThatWereCompared) {
  ComparePanel& panel = page_->comparison();
  panel.set_a(database("before.db"));
  panel.set_b(database("after.db"));
  QSignalSpy done(&panel, &ComparePanel::compared);
  panel.compare();
  panel.set_a("/else/where.db");  // typed during the comparison
  ASSERT_TRUE(done.wait(patience_ms));
  ASSERT_FALSE(panel.shown()->tables.empty());
  EXPECT_TRUE(panel.status().contains("before.db")) << panel.status().toStdString();
  EXPECT_FALSE(panel.status().contains("where.db")) << panel.status().toStdString();
}

TEST_F(RunsPageTest, TheOpenedFileIsTheBaselineOfAComparison) {
  const QString before = database("before.db"), after = database("after.db");
  page_->show_file(open_file(before.toStdString()));
  EXPECT_EQ(page_->comparison().a(), before);
  EXPECT_EQ(page_->comparison().b(), "");
  QSignalSpy done(&page_->comparison(), &ComparePanel::compared);
  EXPECT_TRUE(page_->compare_databases(before, after));  // File, Compare with…
  ASSERT_TRUE(done.wait(patience_ms));
  EXPECT_EQ(page_->comparison().a(), before);
  EXPECT_EQ(page_->comparison().b(), after);
}

TEST_F(RunsPageTest, AComparisonStopsBeforeAnyPart) {
  const std::string a = database("a.db").toStdString(), b = database("b.db").toStdString();
  int parts = 0;
  const report::Report whole = compare_files(a, b, [&] {
    ++parts;
    return false;
  });
  ASSERT_FALSE(whole.tables.empty());
  EXPECT_GT(parts, 10) << "both files, and each time's interval";
  for (int last = 1; last <= parts; ++last) {
    int asked = 0;
    EXPECT_TRUE(compare_files(a, b, [&] { return ++asked >= last; }).tables.empty()) << last;
    EXPECT_LE(asked, last + 2) << "it continued after it was stopped";
  }
}

TEST_F(RunsPageTest, AComparisonIsCancelledEarlyAndLateAndMadeAgain) {
  ComparePanel& panel = page_->comparison();
  page_->opening().compare_requested(database("a.db"), true);
  QSignalSpy done(&panel, &ComparePanel::compared);
  page_->opening().compare_requested(database("b.db"), false);
  ASSERT_TRUE(done.wait(patience_ms));
  ASSERT_TRUE(QTest::qWaitForWindowActive(page_.get()));
  const QString status = panel.status();
  const int rows = panel.view("compare_time")->model()->rowCount();
  QPushButton* cancel = nullptr;
  for (QPushButton* button : panel.findChildren<QPushButton*>())
    if (button->text() == "Cancel") cancel = button;
  ASSERT_NE(cancel, nullptr);
  EXPECT_FALSE(cancel->isEnabled());
  const QString other = database("other.db");
  for (const bool late : {false, true}) {
    SCOPED_TRACE(late);
    panel.set_b(other);
    panel.compare();
    ASSERT_TRUE(panel.running());
    EXPECT_EQ(panel.status(), "Comparing…");
    if (late) {
      QThreadPool::globalInstance()->waitForDone();  // compared; its result waits for this thread
      QTest::keyClick(&panel, Qt::Key_Escape);
    } else {
      QTest::mouseClick(cancel, Qt::LeftButton);
    }
    EXPECT_FALSE(panel.running());
    QThreadPool::globalInstance()->waitForDone();
    QCoreApplication::processEvents();
    EXPECT_EQ(done.count(), 1) << "the first alone";
    EXPECT_EQ(panel.status(), status);
    ASSERT_NE(panel.shown(), nullptr);
    EXPECT_EQ(panel.view("compare_time")->model()->rowCount(), rows);
  }
  panel.compare();
  ASSERT_TRUE(done.wait(patience_ms));
  EXPECT_TRUE(panel.status().contains("other.db")) << panel.status().toStdString();
}

TEST_F(RunsPageTest, EachLetterLeadsToOneControl) {
  for (QTabWidget* tabs : page_->findChildren<QTabWidget*>()) {
    if (tabs->count() != 2) continue;  // the page's own tabs: run, compare
    for (int i = 0; i < tabs->count(); ++i) {
      tabs->setCurrentIndex(i);
      const QStringList clashes = clashing_letters(*page_);
      EXPECT_TRUE(clashes.isEmpty()) << clashes.join("; ").toStdString();
    }
  }
}

TEST_F(RunsPageTest, AComparisonThatFailsSaysWhichFileAndWhy) {
  ComparePanel& panel = page_->comparison();
  panel.set_a(database("a.db"));
  panel.set_b("/nowhere/b.db");
  QSignalSpy failed(&panel, &ComparePanel::not_compared);
  panel.compare();
  ASSERT_TRUE(failed.wait(patience_ms));
  EXPECT_TRUE(panel.status().contains("/nowhere/b.db")) << panel.status().toStdString();
  EXPECT_EQ(panel.shown(), nullptr);
}

TEST_F(RunsPageTest, AnUnsoundScenarioIsNotRunAndTheCursorGoesToTheProblem) {
  editor().setPlainText(QString(sound).replace("steps: 20", "steps: many"));
  EXPECT_FALSE(page_->run().run(false));
  EXPECT_TRUE(page_->run().status().contains("line 9")) << page_->run().status().toStdString();
  EXPECT_EQ(editor().textCursor().blockNumber() + 1, 9);
}

TEST_F(RunsPageTest, ADryRunShowsThePlanOfTheTextAsItIsTyped) {
  type_sound();
  page_->run().set_out(folder_.filePath("out.db"));
  page_->run().set_workers("1, 2");
  ASSERT_TRUE(page_->run().run(true));
  ASSERT_TRUE(ended());
  EXPECT_TRUE(page_->run().status().contains("the plan is shown")) << page_->run().status().toStdString();
  EXPECT_TRUE(page_->run().log().contains("2 measurements")) << page_->run().log().toStdString();
  EXPECT_TRUE(asked_.isEmpty());
  EXPECT_TRUE(page_->scenario().path().isEmpty()) << "the text is still not a file";
}

// After a successful dry run, a refusal must remove the "done".
TEST_F(RunsPageTest, ARefusalTakesTheResultBeforeItAway) {
  auto* bar = page_->run().findChild<QProgressBar*>();
  const QSignalSpy said(page_.get(), &Page::status_message);
  const auto plan = [&] {
    type_sound();
    page_->run().set_out(folder_.filePath("out.db"));
    ASSERT_TRUE(page_->run().run(true));
    ASSERT_TRUE(ended());
    ASSERT_TRUE(page_->run().status().contains("the plan is shown")) << page_->run().status().toStdString();
    ASSERT_EQ(bar->value(), bar->maximum());
  };
  const auto refused = [&](const QString& why) {
    SCOPED_TRACE(why.toStdString());
    EXPECT_FALSE(page_->run().process().running());
    EXPECT_TRUE(page_->run().status().contains(why)) << page_->run().status().toStdString();
    EXPECT_EQ(bar->value(), bar->minimum());
    EXPECT_EQ(bar->text(), "not started");
    EXPECT_TRUE(page_->run().log().section('\n', -1).contains(why)) << page_->run().log().toStdString();
    EXPECT_TRUE(said.last().front().toString().contains(why)) << said.last().front().toString().toStdString();
  };
  for (const bool dry_run : {true, false}) {
    plan();
    editor().setPlainText(QString(sound).replace("steps: 20", "steps: many"));
    EXPECT_FALSE(page_->run().run(dry_run));
    refused("The scenario has a problem");
  }
  plan();
  page_->run().set_out(file("there.db", "before"));
  EXPECT_FALSE(page_->run().run(false)) << "answered Cancel";
  refused("was not changed");

  plan();
  qputenv("DDPPROF_PROGRAM", "/nowhere/ddpprof");
  EXPECT_FALSE(page_->run().run(true));
  refused("DDPPROF_PROGRAM names '/nowhere/ddpprof'");
  qputenv("DDPPROF_PROGRAM", DDPPROF_BUILT_PROGRAM);

  plan();
  page_->run().set_workers("1,many");  // only ddpprof itself refuses this
  ASSERT_TRUE(page_->run().run(true));
  ASSERT_TRUE(ended());
  EXPECT_EQ(bar->text(), "ended");
  EXPECT_EQ(bar->value(), bar->minimum());
  EXPECT_TRUE(page_->run().status().contains("many")) << page_->run().status().toStdString();
  EXPECT_FALSE(page_->run().log().contains("measurements"))
      << "the plan of the dry run: " << page_->run().log().toStdString();
}

TEST_F(RunsPageTest, ADatabaseIsNeverReplacedWithoutAsking) {
  type_sound();
  const QString precious = database("precious.db");
  QFile before(precious);
  ASSERT_TRUE(before.open(QIODevice::ReadOnly));
  const QByteArray bytes = before.readAll();
  page_->run().set_out(precious);
  EXPECT_FALSE(page_->run().run(false));
  ASSERT_EQ(asked_.size(), 1);
  EXPECT_TRUE(asked_[0].contains("precious.db exists"));
  EXPECT_TRUE(page_->run().status().contains("was not changed"));
  QFile after(precious);
  ASSERT_TRUE(after.open(QIODevice::ReadOnly));
  EXPECT_EQ(after.readAll(), bytes);
}

#if DDPPROF_WITH_WORKER
TEST_F(RunsPageTest, ARunsDatabaseIsOfferedToBeOpened) {
  type_sound();
  page_->run().set_out(folder_.filePath("small.db"));
  ASSERT_TRUE(page_->run().run(false));
  ASSERT_TRUE(ended());
  QPushButton* open = nullptr;
  for (QPushButton* button : page_->run().findChildren<QPushButton*>())
    if (button->text().contains("small.db")) open = button;
  ASSERT_NE(open, nullptr) << page_->run().status().toStdString();
  ASSERT_TRUE(open->isVisible());
  QTest::mouseClick(open, Qt::LeftButton);
  EXPECT_EQ(opened_, QStringList{folder_.filePath("small.db")});
}
#endif

TEST_F(RunsPageTest, ClosingDuringARunAsksAndEndsIt) {
  const QString program =
      file("stand-in", "#!/bin/bash\ntrap 'exit 4' INT\necho ready >&2\nwhile true; do sleep 0.05; done\n");
  QFile(program).setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner | QFileDevice::ExeOwner);
  qputenv("DDPPROF_PROGRAM", program.toUtf8());
  type_sound();
  editor().document()->setModified(false);
  page_->run().set_out(folder_.filePath("out.db"));
  ASSERT_TRUE(page_->run().run(false));
  ASSERT_TRUE(QTest::qWaitFor([&] { return page_->run().log().contains("ready"); }, patience_ms));
  EXPECT_FALSE(page_->may_close()) << "answered Cancel: the run goes on";
  EXPECT_TRUE(page_->run().process().running());
  answer_ = Answer::first;
  EXPECT_TRUE(page_->may_close());
  EXPECT_FALSE(page_->run().process().running());
  EXPECT_TRUE(page_->run().status().startsWith("Cancelled."));
}

}  // namespace
}  // namespace ddpprof::gui
