// The palette of Ctrl+K, used with the keyboard only.
#include "gui/window/command_palette.hpp"

#include <gtest/gtest.h>

#include <QApplication>
#include <QLineEdit>
#include <QListWidget>
#include <QSignalSpy>
#include <QSlider>
#include <QTabWidget>
#include <QTest>

#include "gui/models/jobs.hpp"
#include "gui/widgets/knob.hpp"
#include "gui/window/main_window.hpp"
#include "tests/gui/window/files.hpp"

namespace ddpprof::gui {
namespace {

TEST(Matching, AllWordsInAnyOrderWordBeginsFirst) {
  const std::vector<Command> commands = {{"File: Reload", "F5", {}},
                                         {"Page: Overview", "", {}},
                                         {"Knob: Link bandwidth", "", {}},
                                         {"Page: Timeline", "", {}},
                                         {"Timeline: Zoom to it", "", {}}};
  using Found = std::vector<std::size_t>;
  EXPECT_EQ(matching(commands, ""), (Found{0, 1, 2, 3, 4}));
  EXPECT_EQ(matching(commands, "time"), (Found{3, 4}));
  EXPECT_EQ(matching(commands, "BAND link"), (Found{2}));
  EXPECT_EQ(matching(commands, "view"), (Found{1})) << "inside a word";
  EXPECT_EQ(matching(commands, "lin"), (Found{2, 3, 4})) << "the begin of a word is before the inside of one";
  EXPECT_EQ(matching(commands, "nothing"), Found{});
}

class Palette : public testing::Test {
 protected:
  void SetUp() override {
    test::write_sound(folder / "run.db");
    window.show();
    QSignalSpy opened(&window, &MainWindow::opened);
    window.open(QString::fromStdString((folder / "run.db").string()));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !opened.isEmpty(); }, 30'000));
    ASSERT_TRUE(QTest::qWaitFor([] { return Job::running_now() == 0; }, 60'000));
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window));
  }
  CommandPalette& palette() {
    QTest::keyClick(&window, Qt::Key_K, Qt::ControlModifier);
    auto* found = window.findChild<CommandPalette*>();
    EXPECT_NE(found, nullptr);
    return *found;
  }
  QString page() { return QString(tabs().tabText(tabs().currentIndex())).remove('&'); }
  QTabWidget& tabs() { return *window.findChild<QTabWidget*>(); }

  const test::Folder folder;
  MainWindow window;
};

TEST_F(Palette, GoesToAPage) {
  CommandPalette& open = palette();
  QTest::keyClicks(&open.box(), "ranks");
  ASSERT_GE(open.list().count(), 1);
  EXPECT_EQ(open.list().currentItem()->text(), "Page: Ranks");
  QTest::keyClick(&open.box(), Qt::Key_Return);
  EXPECT_TRUE(QTest::qWaitFor([&] { return page() == "Ranks"; }, 5000));
  EXPECT_TRUE(QTest::qWaitFor([&] { return window.findChild<CommandPalette*>() == nullptr; }, 5000));
}

TEST_F(Palette, FocusesAKnob) {
  CommandPalette& open = palette();
  QTest::keyClicks(&open.box(), "knob bandwidth");
  ASSERT_EQ(open.list().count(), 1);
  QTest::keyClick(&open.box(), Qt::Key_Return);
  EXPECT_TRUE(QTest::qWaitFor([&] { return page() == "Scaling"; }, 5000));
  const auto focused = [&] { return qobject_cast<QSlider*>(window.focusWidget()); };
  ASSERT_TRUE(QTest::qWaitFor([&] { return focused() != nullptr; }, 5000));
  const auto* knob = qobject_cast<KnobBase*>(focused()->parentWidget());
  ASSERT_NE(knob, nullptr);
  EXPECT_EQ(knob->label(), "Link bandwidth");
}

TEST_F(Palette, ArrowsChooseAndEscapeCloses) {
  CommandPalette& open = palette();
  QTest::keyClicks(&open.box(), "page");
  const int count = open.list().count();
  ASSERT_GE(count, 6) << "the pages that apply to the file";
  EXPECT_EQ(open.list().currentRow(), 0);
  QTest::keyClick(&open.box(), Qt::Key_Down);
  EXPECT_EQ(open.list().currentRow(), 1);
  const QString before = page();
  QTest::keyClick(&open.box(), Qt::Key_Escape);
  EXPECT_TRUE(QTest::qWaitFor([&] { return window.findChild<CommandPalette*>() == nullptr; }, 5000));
  EXPECT_EQ(page(), before);
}

TEST_F(Palette, HasTheEntriesOfTheMenus) {
  QStringList titles;
  for (const Command& command : commands_of(window)) titles << command.title;
  for (const char* title :
       {"File: Reload", "View: Timeline", "Appearance: Dark", "Help: Glossary", "Scaling: Undo the change of knobs"})
    EXPECT_TRUE(titles.contains(title)) << title << " not in " << titles.join("\n").toStdString();
}

}  // namespace
}  // namespace ddpprof::gui
