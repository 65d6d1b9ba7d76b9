#include "gui/window/main_window.hpp"

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDockWidget>
#include <QDropEvent>
#include <QImage>
#include <QLabel>
#include <QMenuBar>
#include <QMimeData>
#include <QScreen>
#include <QSettings>
#include <QSignalSpy>
#include <QSplitter>
#include <QStatusBar>
#include <QTabBar>
#include <QTabWidget>
#include <QTest>
#include <QToolButton>
#include <QUrl>
#include <map>
#include <set>

#include "gui/models/jobs.hpp"
#include "gui/pages/page.hpp"
#include "gui/plots/colours.hpp"
#include "gui/plots/plot.hpp"
#include "gui/widgets/diagnostics_bar.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/window/appearance.hpp"
#include "gui/window/picture.hpp"
#include "tests/gui/window/files.hpp"

namespace ddpprof::gui {
namespace {

using test::Folder;
using testing::AnyOf;
using testing::HasSubstr;

QString text_of(const std::filesystem::path& path) { return QString::fromStdString(path.string()); }

// Returns "" if the file was opened, otherwise the window's message.
std::string opened(MainWindow& window, const std::filesystem::path& path) {
  const QSignalSpy yes(&window, &MainWindow::opened);
  const QSignalSpy no(&window, &MainWindow::not_opened);
  window.open(text_of(path));
  EXPECT_TRUE(QTest::qWaitFor([&] { return yes.count() + no.count() > 0; }, 30'000));
  return no.isEmpty() ? "" : no.front().front().toString().toStdString();
}

// A window that shows a valid file.
class OpenWindow : public testing::Test {
 protected:
  void SetUp() override {
    test::write_sound(folder / "run.db");
    window.show();
    ASSERT_EQ(opened(window, folder / "run.db"), "");
  }

  const Folder folder;
  MainWindow window;
};

TEST(MainWindow, ShowsAFileOnEveryPage) {
  const Folder folder;
  test::write_sound(folder / "run.db");
  MainWindow window;
  window.show();
  EXPECT_EQ(window.file(), nullptr);
  EXPECT_EQ(opened(window, folder / "run.db"), "");
  ASSERT_NE(window.file(), nullptr);
  EXPECT_EQ(window.file()->workers("ddp"), (std::vector<std::int64_t>{1, 2, 4}));
  EXPECT_EQ(window.file()->workers("dp"), (std::vector<std::int64_t>{1, 2}));
  ASSERT_NE(window.file()->models, nullptr) << window.file()->why_no_models;
  EXPECT_THAT(window.windowTitle().toStdString(), HasSubstr("run.db"));
  auto* tabs = window.findChild<QTabWidget*>();
  for (int i = 0; i < tabs->count(); ++i) {
    tabs->setCurrentIndex(i);
    QCoreApplication::processEvents();
    EXPECT_FALSE(window.grab().isNull());
  }
  window.close_file();
  EXPECT_EQ(window.file(), nullptr);
}

TEST(MainWindow, ReportsWhyAFileCannotBeOpenedAndKeepsThePresentFile) {
  const Folder folder;
  test::write_sound(folder / "run.db");
  test::write_text(folder / "empty.db", "");
  test::write_text(folder / "text.db", std::string(4096, 'x'));
  SQLite::Database((folder / "other.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE mine(a)");
  store::Database::create(folder / "newer.db").sql().exec("PRAGMA user_version = 99");
  std::filesystem::copy(folder / "run.db", folder / "cut.db");
  std::filesystem::resize_file(folder / "cut.db", std::filesystem::file_size(folder / "run.db") / 3);
  MainWindow window;
  ASSERT_EQ(opened(window, folder / "run.db"), "");
  const auto shown = window.file();
  const std::string notices = window.diagnostics().text().toStdString();
  for (const char* name : {"none.db", "empty.db", "text.db", "other.db", "newer.db", "cut.db", "."}) {
    const std::string said = opened(window, folder / name);
    EXPECT_THAT(said, HasSubstr(name)) << "the message names the file";
    EXPECT_THAT(window.diagnostics().text().toStdString(), HasSubstr(said));
    EXPECT_THAT(window.diagnostics().text().toStdString(), HasSubstr(notices)) << "the present file keeps its notices";
    EXPECT_TRUE(window.diagnostics().isVisibleTo(&window)) << name;
    EXPECT_EQ(window.file(), shown) << name;
  }
}

TEST(MainWindow, ALockedFileIsReportedAndTheWindowStaysResponsive) {
  const Folder folder;
  test::write_sound(folder / "run.db");
  SQLite::Database other((folder / "run.db").string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN EXCLUSIVE");
  MainWindow window;
  window.show();
  const QSignalSpy no(&window, &MainWindow::not_opened);
  window.open(text_of(folder / "run.db"));
  EXPECT_TRUE(window.opening());
  int rounds = 0;  // of the event loop, while the store waits for the lock
  ASSERT_TRUE(QTest::qWaitFor([&] { return ++rounds > 0 && no.count() > 0; }, 30'000));
  EXPECT_GT(rounds, 10);
  EXPECT_THAT(no.front().front().toString().toStdString(), HasSubstr("lock"));
  other.exec("ROLLBACK");
  EXPECT_EQ(opened(window, folder / "run.db"), "");
}

// A file of version 1, as tests/store makes it, is migrated and shown.
TEST(MainWindow, AnOlderFileIsMigrated) {
  const Folder folder;
  test::write_sound(folder / "old.db");
  store::Database::open_write(folder / "old.db")
      .sql()
      .exec(
          "DROP VIEW aligned_step; DROP VIEW aligned_collective; ALTER TABLE measurement DROP COLUMN machines;"
          "ALTER TABLE comm_point DROP COLUMN processor_ns; DROP TABLE host_condition; DROP TABLE memory;"
          "DROP TABLE device_time; DROP TABLE kernel_summary; ALTER TABLE api_call DROP COLUMN name_id;"
          "ALTER TABLE collective DROP COLUMN datatype; ALTER TABLE collective DROP COLUMN algorithm;"
          "ALTER TABLE collective DROP COLUMN protocol; ALTER TABLE collective DROP COLUMN channels;"
          "ALTER TABLE step DROP COLUMN learning_rate; ALTER TABLE step DROP COLUMN local_gradient_sqr;"
          "ALTER TABLE step DROP COLUMN gradient_sqr; ALTER TABLE step DROP COLUMN device_idle_ns;"
          "ALTER TABLE prediction DROP COLUMN host_s; ALTER TABLE collective DROP COLUMN peer;"
          "ALTER TABLE collective DROP COLUMN asynchronous; ALTER TABLE collective DROP COLUMN largest_split;"
          "DROP TABLE process_group; DROP TABLE sharded_unit; DROP TABLE sharded_work;"
          "PRAGMA user_version = 1");
  MainWindow window;
  EXPECT_EQ(opened(window, folder / "old.db"), "");
  EXPECT_EQ(window.file()->workers("ddp").size(), 3u);
}

TEST(MainWindow, AFileWithoutMeasurementsSaysWhatToDo) {
  const Folder folder;
  store::Database::create(folder / "bare.db").finish_load();
  MainWindow window;
  EXPECT_EQ(opened(window, folder / "bare.db"), "");
  EXPECT_EQ(window.file()->models, nullptr);
  EXPECT_THAT(window.diagnostics().text().toStdString(), HasSubstr("No prediction"));
}

TEST(OpenedFile, ThrowsIfThePathNamesAnotherFile) {
  const Folder folder;
  test::write_sound(folder / "run.db");
  const auto file = open_file(folder / "run.db");
  EXPECT_NO_THROW(file->check_unchanged());
  test::write_sound(folder / "other.db");
  std::filesystem::rename(folder / "other.db", folder / "run.db");
  try {
    file->check_unchanged();
    FAIL() << "the numbers of two files would be mixed";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("has changed since it was opened"));
  }
}

TEST(OpenedFile, ADeletedFileIsNotCalledChanged) {
  const Folder folder;
  test::write_sound(folder / "run.db");
  const auto file = open_file(folder / "run.db");
  std::filesystem::remove(folder / "run.db");
  try {
    file->check_unchanged();
    FAIL() << "the file is missing";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("deleted or moved"));
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("F5")));
  }
}

TEST(OpenedFile, ADamagedStoredScenarioIsReportedNotThrown) {
  const Folder folder;
  test::write_sound(folder / "run.db");
  store::Database::open_write(folder / "run.db")
      .sql()
      .exec("INSERT INTO scenario(name, path, source, resolved) VALUES ('odd', 'odd.yaml', '', 'workers: [many')");
  const auto file = open_file(folder / "run.db");
  EXPECT_FALSE(file->scenario);
  EXPECT_THAT(file->why_no_learning_rate, HasSubstr("odd"));
  EXPECT_NE(file->models, nullptr);
}

TEST(MainWindow, AFileDroppedOnItIsOpened) {
  const Folder folder;
  test::write_sound(folder / "run.db");
  MainWindow window;
  window.show();
  QMimeData mime;
  mime.setUrls({QUrl::fromLocalFile(text_of(folder / "run.db"))});
  const QSignalSpy yes(&window, &MainWindow::opened);
  QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&window, &enter);
  ASSERT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&window, &drop);
  EXPECT_TRUE(QTest::qWaitFor([&] { return yes.count() == 1; }, 30'000));
}

TEST_F(OpenWindow, TheSelectedRangeIsBesideEveryPageButTheTimeline) {
  auto* dock = window.findChild<QDockWidget*>();
  ASSERT_NE(dock, nullptr);
  window.show_page("Ranks");
  EXPECT_FALSE(dock->isVisible()) << "nothing is selected";
  window.selection().set_range(TimeRange{window.file()->measurements.front().id, 0, std::int64_t{1} << 60});
  EXPECT_TRUE(dock->isVisible());
  window.show_page("Timeline");
  EXPECT_FALSE(dock->isVisible());
  window.show_page("Scaling");
  EXPECT_TRUE(dock->isVisible());
  const auto tables = dock->findChildren<TableView*>();
  ASSERT_FALSE(tables.isEmpty());
  EXPECT_TRUE(QTest::qWaitFor([&] { return tables.front()->model()->rowCount() > 0; }, 30'000));
  window.close_file();
  EXPECT_FALSE(dock->isVisible());
}

TEST(MainWindow, RemembersFilesAndSize) {
  const Folder folder;
  test::write_sound(folder / "a.db");
  test::write_sound(folder / "b.db");
  QByteArray split;
  {
    MainWindow window;
    window.show();
    window.resize(950, 640);
    opened(window, folder / "a.db");
    opened(window, folder / "b.db");
    opened(window, folder / "a.db");
    window.show_page(window.page_titles().value(2));
    window.findChild<QTabWidget*>()->currentWidget()->findChild<QSplitter*>()->setSizes({200, 300});
    split = window.findChild<QTabWidget*>()->currentWidget()->findChild<QSplitter*>()->saveState();
    window.close();
  }
  const QStringList recent = QSettings().value("recent_files").toStringList();
  EXPECT_EQ(recent.mid(0, 2), (QStringList{text_of(folder / "a.db"), text_of(folder / "b.db")}))
      << "newest first, without duplicates";
  MainWindow again;
  // Half of a full HD screen, and the whole screen at 2x.
  for (const Page* page : again.pages()) EXPECT_LE(page->minimumSizeHint().width(), 940) << page->title().toStdString();
  EXPECT_EQ(again.findChild<QTabWidget*>()->currentIndex(), 0) << "the start page";
  EXPECT_EQ(again.width(), 950);
  EXPECT_EQ(again.findChild<QTabWidget*>()->widget(2)->findChild<QSplitter*>()->saveState(), split);
}

TEST(MainWindow, StartsNoLargerThanTheScreen) {
  QSettings().remove("window/geometry");
  const MainWindow window;
  const QSize screen = window.screen()->availableSize(), least = window.minimumSizeHint();
  if (screen.width() >= 1280 && screen.height() >= 820) GTEST_SKIP() << "the screen has room for the usual size";
  EXPECT_LE(window.width(), std::max(screen.width(), least.width()));
  EXPECT_LE(window.height(), std::max(screen.height(), least.height()));
}

// The visited pages and their order change the order in which Qt lists the splitters.
TEST(MainWindow, SplittersAreStoredByName) {
  const Folder folder;
  test::write_sound(folder / "run.db");
  QSettings().remove("window/splitters");
  QList<int> sizes;
  const auto timeline = [](const MainWindow& window) { return window.findChild<QSplitter*>("timeline"); };
  {
    MainWindow window;
    std::set<QString> names;
    const auto splitters = window.findChild<QTabWidget*>()->findChildren<QSplitter*>();
    for (const QSplitter* splitter : splitters) names.insert(splitter->objectName());
    EXPECT_EQ(names.size(), static_cast<std::size_t>(splitters.size())) << "each has a name of its own";
    EXPECT_FALSE(names.contains(""));
    window.resize(1280, 820);
    window.show();
    ASSERT_EQ(opened(window, folder / "run.db"), "");
    for (const char* page : {"Scaling", "Timeline", "Ranks", "Runs", "Scaling", "DP and DDP", "Timeline", "Runs"}) {
      window.show_page(page);
      ASSERT_TRUE(QTest::qWaitFor([] { return Job::running_now() == 0; }, 30'000));
    }
    sizes = timeline(window)->sizes();
    window.close();
  }
  MainWindow again;
  again.show();
  ASSERT_EQ(opened(again, folder / "run.db"), "");
  again.show_page("Timeline");
  ASSERT_TRUE(QTest::qWaitFor([] { return Job::running_now() == 0; }, 30'000));
  EXPECT_EQ(timeline(again)->sizes(), sizes);
  EXPECT_GT(timeline(again)->width(), again.width() * 9 / 10);
}

// The bar's details and the selected range leave room for the plot.
TEST_F(OpenWindow, ThePlotKeepsItsHeightBesideDetailsAndRange) {
  window.resize(1280, 820);
  window.show_page("Scaling");
  window.selection().set_range(TimeRange{window.file()->measurements.front().id, 0, std::int64_t{1} << 60});
  for (auto* button : window.diagnostics().findChildren<QToolButton*>())
    if (button->isVisible()) button->setChecked(true);
  ASSERT_TRUE(QTest::qWaitFor([] { return Job::running_now() == 0; }, 60'000));
  QCoreApplication::processEvents();
  for (const auto* plot : window.findChild<QTabWidget*>()->currentWidget()->findChildren<Plot*>())
    EXPECT_GE(plot->axisRect()->height(), 100) << "of a window of " << window.height();
}

// Tab goes through all controls of the page and returns to the first: no control is skipped and none keeps the focus.
TEST_F(OpenWindow, TabReachesEveryControlOfAPage) {
  ASSERT_TRUE(QTest::qWaitFor([] { return Job::running_now() == 0; }, 30'000));
  auto* tabs = window.findChild<QTabWidget*>();
  for (int page = 0; page < tabs->count(); ++page) {
    tabs->setCurrentIndex(page);
    ASSERT_TRUE(QTest::qWaitFor([] { return Job::running_now() == 0; }, 30'000));
    tabs->tabBar()->setFocus(Qt::TabFocusReason);
    std::set<QWidget*> visited;
    QWidget* at = QApplication::focusWidget();
    ASSERT_EQ(at, tabs->tabBar());
    for (int i = 0; i < 400; ++i) {
      QTest::keyClick(at, Qt::Key_Tab);
      at = QApplication::focusWidget();
      ASSERT_NE(at, nullptr);
      visited.insert(at);
      if (at == tabs->tabBar()) break;
    }
    EXPECT_EQ(at, tabs->tabBar()) << tabs->tabText(page).toStdString() << ": Tab does not return to the tabs";
    for (QWidget* widget : tabs->currentWidget()->findChildren<QWidget*>())
      if (widget->isVisible() && widget->isEnabled() && (widget->focusPolicy() & Qt::TabFocus) &&
          !widget->focusProxy()) {
        EXPECT_TRUE(visited.contains(widget))
            << tabs->tabText(page).toStdString() << ": " << widget->metaObject()->className() << " "
            << widget->accessibleName().toStdString() << " is never reached";
      }
  }
}

// A letter used by two controls would only move the focus between them.
TEST_F(OpenWindow, NoAltLetterIsUsedTwiceOnAPage) {
  auto* tabs = window.findChild<QTabWidget*>();
  for (int page = 0; page < tabs->count(); ++page) {
    tabs->setCurrentIndex(page);
    QCoreApplication::processEvents();
    std::map<QString, QStringList> taken;
    const auto take = [&](const QString& text) {
      const QKeySequence keys = QKeySequence::mnemonic(text);
      if (!keys.isEmpty()) taken[keys.toString()] << text;
    };
    for (int i = 0; i < tabs->count(); ++i) take(tabs->tabText(i));
    for (const QAction* action : window.menuBar()->actions()) take(action->text());
    for (const auto* button : tabs->currentWidget()->findChildren<QAbstractButton*>())
      if (button->isVisible()) take(button->text());
    for (const auto* label : tabs->currentWidget()->findChildren<QLabel*>())
      if (label->isVisible() && label->buddy()) take(label->text());
    for (const auto* inner : tabs->currentWidget()->findChildren<QTabWidget*>())
      if (inner->isVisible())
        for (int i = 0; i < inner->count(); ++i) take(inner->tabText(i));
    for (const auto& [keys, texts] : taken)
      EXPECT_EQ(texts.size(), 1) << tabs->tabText(page).toStdString() << ": " << keys.toStdString() << " is in "
                                 << texts.join(", ").toStdString();
  }
}

// On every page, in the bar above them and beside them, the status bar confirms a copy.
TEST_F(OpenWindow, EveryTableConfirmsACopy) {
  ASSERT_TRUE(QTest::qWaitFor([] { return Job::running_now() == 0; }, 30'000));
  const auto said = [&](TableView* table, Qt::Key key, Qt::KeyboardModifiers modifiers) {
    window.statusBar()->clearMessage();
    QApplication::clipboard()->clear();
    for (QAction* action : table->actions())
      if (action->shortcut() == QKeySequence(QKeyCombination(modifiers, key))) action->trigger();
    return window.statusBar()->currentMessage();
  };
  const auto tables = window.findChildren<TableView*>();
  ASSERT_GT(tables.size(), 20);
  int with_rows = 0;
  for (TableView* table : tables) {
    SCOPED_TRACE(table->accessibleName().toStdString());
    const int rows = table->model()->rowCount();
    with_rows += rows > 1;
    const QString number = QString::number(rows) + (rows == 1 ? " row" : " rows");
    EXPECT_EQ(said(table, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier), "Copied " + number + " as CSV");
    EXPECT_GE(QApplication::clipboard()->text().count('\n'), rows) << "with a heading, each on a line";
    EXPECT_EQ(said(table, Qt::Key_M, Qt::ControlModifier | Qt::ShiftModifier), "Copied " + number + " as Markdown");
    EXPECT_EQ(said(table, Qt::Key_C, Qt::ControlModifier), "Copied " + number + " as text")
        << "nothing is selected: copies all rows";
    if (rows < 2) continue;
    table->selectRow(1);
    EXPECT_EQ(said(table, Qt::Key_C, Qt::ControlModifier), "Copied 1 row as text");
    EXPECT_EQ(QApplication::clipboard()->text().count('\n'), 1) << QApplication::clipboard()->text().toStdString();
  }
  EXPECT_GT(with_rows, 5) << "the pages show something";
}

TEST_F(OpenWindow, FollowsThePaletteLightAndDark) {
  const auto middle = [&] {
    const QImage image = window.grab().toImage();
    return image.scaled(1, 1, Qt::IgnoreAspectRatio, Qt::SmoothTransformation).pixelColor(0, 0).lightness();
  };
  auto* tabs = window.findChild<QTabWidget*>();
  for (int i = 0; i < tabs->count(); ++i) {
    tabs->setCurrentIndex(i);
    apply_appearance(Appearance::dark);
    EXPECT_TRUE(QTest::qWaitFor([&] { return middle() < 110; }, 5000)) << tabs->tabText(i).toStdString();
    apply_appearance(Appearance::light);
    EXPECT_TRUE(QTest::qWaitFor([&] { return middle() > 170; }, 5000)) << tabs->tabText(i).toStdString();
  }
  apply_appearance(Appearance::system);
}

TEST(MainWindow, SavesAPictureWhenNoJobRuns) {
  const Folder folder;
  test::write_sound(folder / "run.db");
  MainWindow window;
  window.resize(800, 600);
  window.show();
  window.open(text_of(folder / "run.db"));
  QString said = "not yet";
  save_when_quiet(window, text_of(folder / "page.png"), [&](const QString& why) { said = why; });
  ASSERT_TRUE(QTest::qWaitFor([&] { return said != "not yet"; }, 60'000));
  EXPECT_EQ(said.toStdString(), "");
  EXPECT_NE(window.file(), nullptr) << "the file was shown before the picture was taken";
  EXPECT_EQ(QImage(text_of(folder / "page.png")).size(), window.size());

  said = "not yet";
  save_when_quiet(window, text_of(folder / "no" / "page.png"), [&](const QString& why) { said = why; });
  ASSERT_TRUE(QTest::qWaitFor([&] { return said != "not yet"; }, 60'000));
  EXPECT_THAT(said.toStdString(), HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace ddpprof::gui
