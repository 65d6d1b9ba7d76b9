// F1: keys and glossary, read and scrolled with the keyboard only.
#include "gui/window/help.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QMenuBar>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTabWidget>
#include <QTest>
#include <map>

#include "gui/widgets/table_view.hpp"
#include "gui/window/glossary.hpp"
#include "gui/window/main_window.hpp"

namespace ddpprof::gui {
namespace {

using testing::HasSubstr;

std::string cell(const report::Row& row, std::size_t column) { return std::get<std::string>(row.at(column)); }

std::map<std::string, std::string> meanings() {
  std::map<std::string, std::string> all;
  for (const report::Row& row : glossary_table().rows) all[cell(row, 0)] = cell(row, 1);
  return all;
}

TEST(Glossary, HasEveryTermOnceWithASentence) {
  const auto all = meanings();
  EXPECT_EQ(all.size(), glossary_table().rows.size()) << "a term occurs twice";
  for (const auto& [word, meaning] : all) {
    EXPECT_FALSE(word.empty());
    EXPECT_THAT(meaning, testing::EndsWith(".")) << word;
  }
  for (const char* word : {"exposed communication", "overlapped communication", "skew", "busbw", "algbw", "bucket",
                           "knee", "binding term", "interval", "efficiency", "throughput", "world size, N", "straggler",
                           "held-out error", "linear scaling rule", "critical batch"})
    EXPECT_TRUE(all.contains(word)) << word;
}

// The formulas are those of docs/reference/report and of nccl-tests' PERFORMANCE.md.
TEST(Glossary, DefinesAsTheReportsDo) {
  const auto all = meanings();
  EXPECT_THAT(all.at("busbw"), HasSubstr("2(N − 1) / N"));
  EXPECT_THAT(all.at("efficiency"), HasSubstr("throughput(N) / (N × throughput(1))"));
  EXPECT_THAT(all.at("knee"), HasSubstr("10, 25 and 50 %"));
  EXPECT_THAT(all.at("linear scaling rule"), HasSubstr("κ × base rate"));
}

class Help : public testing::Test {
 protected:
  void SetUp() override {
    window.show();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window)) << "keys go to the active window";
    ASSERT_EQ(window.findChild<HelpDialog*>(), nullptr);
    QTest::keyClick(&window, Qt::Key_F1);
    dialog = window.findChild<HelpDialog*>();
    ASSERT_NE(dialog, nullptr);
    ASSERT_TRUE(dialog->isVisible());
    tabs = dialog->findChild<QTabWidget*>();
    ASSERT_EQ(tabs->count(), 2);
  }
  TableView& shown() { return *qobject_cast<TableView*>(tabs->currentWidget()); }

  MainWindow window;
  HelpDialog* dialog = nullptr;
  QTabWidget* tabs = nullptr;
};

TEST_F(Help, F1ShowsEveryKeyOfEveryPage) {
  const report::Table keys = keys_table({window.pages().begin(), window.pages().end()});
  ASSERT_GT(keys.rows.size(), 20u);
  ASSERT_EQ(shown().model()->rowCount(), static_cast<int>(keys.rows.size()));
  for (const report::Row& row : keys.rows)
    for (std::size_t column = 0; column < 3; ++column) EXPECT_FALSE(cell(row, column).empty()) << cell(row, 2);
  // It contains the keys of the window's own actions.
  QStringList named;
  for (const report::Row& row : keys.rows)
    named << QString::fromStdString(cell(row, 1)).split(QRegularExpression("[,;] "));
  int actions = 0;
  for (const QAction* action : window.menuBar()->findChildren<QAction*>())
    for (const QKeySequence& keys_of_action : action->shortcuts()) {
      const QString key = keys_of_action.toString();
      if (key.startsWith("Alt+")) continue;  // "Alt+1 … Alt+7"
      EXPECT_TRUE(named.contains(key)) << key.toStdString() << ": " << action->text().toStdString();
      ++actions;
    }
  EXPECT_GE(actions, 3);
}

TEST_F(Help, TheGlossaryIsATabAndShowsEachTermInFull) {
  QTest::keyClick(&shown(), Qt::Key_Tab, Qt::ControlModifier);
  EXPECT_EQ(tabs->currentIndex(), 1) << "Ctrl+Tab goes to the glossary";
  const report::Table words = glossary_table();
  ASSERT_EQ(shown().model()->rowCount(), static_cast<int>(words.rows.size()));
  QCoreApplication::processEvents();
  for (const int width : {820, 500}) {
    dialog->resize(width, 400);
    QCoreApplication::processEvents();
    for (std::size_t row = 0; row < words.rows.size(); ++row) {
      const int at = static_cast<int>(row);
      EXPECT_EQ(shown().model()->index(at, 0).data().toString().toStdString(), cell(words.rows[row], 0));
      EXPECT_EQ(shown().model()->index(at, 1).data().toString().toStdString(), cell(words.rows[row], 1));
      EXPECT_GE(shown().rowHeight(at), shown().sizeHintForIndex(shown().model()->index(at, 1)).height())
          << cell(words.rows[row], 0) << " is cut off at " << width;
    }
  }
}

TEST_F(Help, TheKeyboardScrollsItAndFindsATerm) {
  dialog->show_glossary();
  QCoreApplication::processEvents();
  QScrollBar* bar = shown().verticalScrollBar();
  ASSERT_GT(bar->maximum(), 0) << "the table is longer than the dialog";
  ASSERT_TRUE(shown().hasFocus());
  QTest::keyClick(&shown(), Qt::Key_PageDown);
  EXPECT_GT(bar->value(), 0);
  QTest::keyClick(&shown(), Qt::Key_End, Qt::ControlModifier);
  EXPECT_EQ(bar->value(), bar->maximum());
  QTest::keyClick(&shown(), Qt::Key_Home, Qt::ControlModifier);
  EXPECT_EQ(bar->value(), 0);
  QTest::keyClicks(&shown(), "kne");
  EXPECT_EQ(shown().currentIndex().siblingAtColumn(0).data().toString(), "knee") << "typed";
  QTest::keyClick(&shown(), Qt::Key_Escape);
  EXPECT_FALSE(dialog->isVisible());
}

TEST_F(Help, F1AgainShowsTheSameDialog) {
  QTest::keyClick(dialog, Qt::Key_Escape);
  EXPECT_FALSE(dialog->isVisible());
  window.show_glossary();
  EXPECT_TRUE(dialog->isVisible());
  EXPECT_EQ(tabs->currentIndex(), 1);
  QTest::keyClick(&window, Qt::Key_F1);
  EXPECT_EQ(tabs->currentIndex(), 0);
  EXPECT_EQ(window.findChildren<HelpDialog*>().size(), 1);
}

TEST_F(Help, CopyingIsConfirmedInTheDialog) {
  dialog->show_glossary();
  shown().copy_as_markdown();
  QStringList said;
  for (const QLabel* label : dialog->findChildren<QLabel*>()) said << label->text();
  EXPECT_TRUE(said.contains(QStringLiteral("Copied %1 rows as Markdown").arg(shown().model()->rowCount())))
      << said.join("; ").toStdString();
}

}  // namespace
}  // namespace ddpprof::gui
