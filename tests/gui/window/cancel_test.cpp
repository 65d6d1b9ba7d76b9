// Cancelling the opening of a file: by button, by Escape, early and late. The next file opens normally.
#include <gtest/gtest.h>

#include <QApplication>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTabWidget>
#include <QTest>
#include <QThreadPool>

#include "gui/pages/runs/compare_panel.hpp"
#include "gui/window/main_window.hpp"
#include "tests/gui/window/files.hpp"

namespace ddpprof::gui {
namespace {

using test::Folder;

TEST(OpenFile, StopsBeforeAnyPartAndReadsNoFurther) {
  const Folder folder;
  test::write_sound(folder / "run.db");
  int parts = 0;
  ASSERT_NE(open_file(folder / "run.db",
                      [&] {
                        ++parts;
                        return false;
                      }),
            nullptr);
  EXPECT_GE(parts, 4) << "the file, configurations, notices, scenario, models";
  for (int last = 1; last <= parts; ++last) {
    int asked = 0;
    EXPECT_EQ(open_file(folder / "run.db", [&] { return ++asked >= last; }), nullptr) << last;
    EXPECT_EQ(asked, last) << "it continued after it was stopped";
  }
}

class CancelOpening : public testing::Test {
 protected:
  void SetUp() override {
    test::write_sound(folder / "shown.db");
    test::write_sound(folder / "next.db");
    window.show();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window));
    ASSERT_TRUE(open("shown.db"));
    shown = window.file();
    for (QPushButton* button : window.statusBar()->findChildren<QPushButton*>()) cancel = button;
    ASSERT_NE(cancel, nullptr);
  }
  QString path(const char* name) const { return QString::fromStdString((folder / name).string()); }
  bool open(const char* name) {
    const QSignalSpy opened(&window, &MainWindow::opened);
    window.open(path(name));
    return QTest::qWaitFor([&] { return opened.count() == 1; }, 30'000);
  }
  // All pending results of the reading have arrived and changed nothing; the next file opens.
  void expect_as_it_was() {
    EXPECT_FALSE(window.opening());
    QThreadPool::globalInstance()->waitForDone();
    QCoreApplication::processEvents();
    EXPECT_EQ(window.file(), shown);
    EXPECT_TRUE(window.windowTitle().contains("shown.db")) << window.windowTitle().toStdString();
    EXPECT_FALSE(cancel->isVisible());
    EXPECT_TRUE(open("next.db"));
    EXPECT_TRUE(window.windowTitle().contains("next.db")) << window.windowTitle().toStdString();
    EXPECT_FALSE(cancel->isVisible());
  }

  const Folder folder;
  MainWindow window;
  std::shared_ptr<const OpenedFile> shown;
  QPushButton* cancel = nullptr;
};

TEST_F(CancelOpening, EarlyByTheButton) {
  EXPECT_FALSE(cancel->isVisible()) << "nothing to cancel";
  window.open(path("next.db"));
  ASSERT_TRUE(cancel->isVisible());
  EXPECT_TRUE(window.statusBar()->currentMessage().contains("Reading next.db"))
      << window.statusBar()->currentMessage().toStdString();
  QTest::mouseClick(cancel, Qt::LeftButton);
  EXPECT_EQ(window.statusBar()->currentMessage(), "Cancelled: next.db was not opened.");
  expect_as_it_was();
}

TEST_F(CancelOpening, LateByEscapeWhenTheFileIsReadButNotShown) {
  window.open(path("next.db"));
  QThreadPool::globalInstance()->waitForDone();  // read; its result waits for this thread
  ASSERT_TRUE(window.opening());
  QTest::keyClick(&window, Qt::Key_Escape);
  EXPECT_EQ(window.statusBar()->currentMessage(), "Cancelled: next.db was not opened.");
  expect_as_it_was();
}

TEST_F(CancelOpening, ACancelledReloadHasItsOwnMessage) {
  window.open(path("shown.db"));
  ASSERT_TRUE(window.opening());
  QTest::keyClick(&window, Qt::Key_Escape);
  EXPECT_EQ(window.statusBar()->currentMessage(), "Cancelled: shown.db was not read again. The present data stays.");
  expect_as_it_was();
}

TEST_F(CancelOpening, TwoEscapesEndAReadingAndAComparison) {
  window.show_page("Runs");
  auto* panel = window.findChild<ComparePanel*>();
  ASSERT_NE(panel, nullptr);
  for (QWidget* up = panel; up != nullptr; up = up->parentWidget())
    if (auto* tabs = qobject_cast<QTabWidget*>(up->parentWidget() ? up->parentWidget()->parentWidget() : nullptr))
      if (tabs->indexOf(up) >= 0) tabs->setCurrentWidget(up);
  ASSERT_TRUE(panel->isVisible());
  panel->set_a(path("shown.db"));
  panel->set_b(path("next.db"));
  panel->findChild<QLineEdit*>()->setFocus();  // while the focus is in the comparison, Escape belongs to it
  panel->compare();
  window.open(path("next.db"));
  ASSERT_TRUE(panel->running() && window.opening());
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
  EXPECT_NE(panel->running(), window.opening()) << "one press cancels one of the two";
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
  EXPECT_FALSE(panel->running() || window.opening());
  expect_as_it_was();
  EXPECT_EQ(panel->shown(), nullptr);
}

TEST_F(CancelOpening, EscapeWithNothingToCancelChangesNothing) {
  window.statusBar()->showMessage("as it was");
  QTest::keyClick(&window, Qt::Key_Escape);
  window.cancel_opening();
  EXPECT_EQ(window.statusBar()->currentMessage(), "as it was");
  expect_as_it_was();
}

}  // namespace
}  // namespace ddpprof::gui
